"""The ops of the IR and the fields of their nodes. To add one: a member of Op, a line in FIELDS."""

from enum import Enum, auto


class Op(Enum):
    """What a node does. Hashed by identity: it keys the intern table."""

    __hash__ = object.__hash__

    # kernel form
    BUFFER = auto()
    IMAGE = auto()
    VAR = auto()
    CONST = auto()
    INDEX = auto()
    LOAD = auto()
    GATHER = auto()
    REDUCE = auto()
    STORE = auto()
    SINK = auto()
    # elementwise, one source
    NEG = auto()
    NOT = auto()
    SQRT = auto()
    EXP2 = auto()
    LOG2 = auto()
    SIN = auto()
    COS = auto()
    TAN = auto()
    TANH = auto()
    ERF = auto()
    TRUNC = auto()
    FLOOR = auto()
    CEIL = auto()
    RINT = auto()
    CAST = auto()
    BITCAST = auto()
    # elementwise, two sources
    ADD = auto()
    SUB = auto()
    MUL = auto()
    FDIV = auto()
    IDIV = auto()
    MOD = auto()
    MAX = auto()
    MIN = auto()
    POW = auto()
    AND = auto()
    OR = auto()
    XOR = auto()
    SHL = auto()
    SHR = auto()
    LT = auto()
    LE = auto()
    EQ = auto()
    NE = auto()
    # elementwise, three sources
    WHERE = auto()
    MULACC = auto()
    # lowered form
    RANGE = auto()
    SPECIAL = auto()
    READ = auto()
    WRITE = auto()
    LOCAL = auto()
    BARRIER = auto()
    AFTER = auto()
    FOLD = auto()
    ACC = auto()
    LOOP = auto()
    RESULT = auto()
    SPLAT = auto()
    STACK = auto()
    LANE = auto()
    SHUFFLE = auto()
    FRAGMENT = auto()
    WMMA = auto()
    ELEMENT = auto()
    # linear form
    INIT = auto()
    SET = auto()
    END = auto()
    IF = auto()
    ENDIF = auto()
    PROGRAM = auto()


class AxisKind(Enum):
    """The role of a loop, in nesting order from the outside in."""

    __hash__ = object.__hash__

    GLOBAL = "GLOBAL"
    LOCAL = "LOCAL"
    GROUP = "GROUP"
    REDUCE = "REDUCE"
    UNROLL = "UNROLL"
    UPCAST = "UPCAST"


class Field(Enum):
    """The type of one attribute: how it is printed and parsed."""

    __hash__ = object.__hash__

    INT = auto()
    INTS = auto()  # tuple of int
    VALUE = auto()  # a number of the node's dtype: int, float or bool
    NAME = auto()  # str
    NAMES = auto()  # tuple of str
    SIZE = auto()  # int or an integer Node
    VIEWS = auto()  # ViewStack or None
    AXES = auto()  # tuple of (name, size)
    OP = auto()  # an Op, by name
    KIND = auto()  # an AxisKind, by name


FIELDS: dict[Op, tuple[tuple[str, Field], ...]] = {
    Op.BUFFER: (("slot", Field.INT), ("size", Field.SIZE)),
    Op.IMAGE: (("slot", Field.INT), ("size", Field.INT), ("width", Field.INT)),
    Op.VAR: (("name", Field.NAME), ("lo", Field.INT), ("hi", Field.INT)),
    Op.CONST: (("value", Field.VALUE), ("view", Field.VIEWS)),
    Op.INDEX: (("view", Field.VIEWS),),
    Op.LOAD: (("view", Field.VIEWS),),
    Op.REDUCE: (("op", Field.OP), ("axes", Field.NAMES)),
    Op.STORE: (("view", Field.VIEWS),),
    Op.SINK: (("axes", Field.AXES),),
    Op.RANGE: (("name", Field.NAME), ("kind", Field.KIND)),
    Op.SPECIAL: (("name", Field.NAME),),
    Op.LOCAL: (("name", Field.NAME), ("size", Field.INT)),
    Op.FOLD: (("op", Field.OP), ("terms", Field.INT)),
    Op.ACC: (("number", Field.INT),),
    Op.LOOP: (("ranges", Field.INT), ("accs", Field.INT)),
    Op.RESULT: (("index", Field.INT),),
    Op.LANE: (("index", Field.INT),),
    Op.SHUFFLE: (("lanes", Field.INTS),),
    Op.WMMA: (("core", Field.NAME),),
}
FIELDS.update({op: () for op in Op if op not in FIELDS})

ARRAYS = frozenset((Op.BUFFER, Op.IMAGE))  # arguments that hold elements, by slot and size
UNARY = frozenset(
    (
        *(Op.NEG, Op.NOT, Op.SQRT, Op.EXP2, Op.LOG2, Op.SIN, Op.COS, Op.TAN, Op.TANH, Op.ERF),
        *(Op.TRUNC, Op.FLOOR, Op.CEIL, Op.RINT),
    )
)
CONVERSIONS = frozenset((Op.CAST, Op.BITCAST))
COMPARISONS = frozenset((Op.LT, Op.LE, Op.EQ, Op.NE))
BINARY = frozenset(
    (
        Op.ADD,
        Op.SUB,
        Op.MUL,
        Op.FDIV,
        Op.IDIV,
        Op.MOD,
        Op.MAX,
        Op.MIN,
        Op.POW,
        Op.AND,
        Op.OR,
        Op.XOR,
        Op.SHL,
        Op.SHR,
    )
)
TERNARY = frozenset((Op.WHERE, Op.MULACC))
ELEMENTWISE = UNARY | CONVERSIONS | COMPARISONS | BINARY | TERNARY
COMMUTATIVE = frozenset(
    (Op.ADD, Op.MUL, Op.AND, Op.OR, Op.XOR, Op.EQ, Op.NE)
)  # not MAX: signed zeros and NaN
REDUCTIONS = (Op.ADD, Op.MUL, Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR)
