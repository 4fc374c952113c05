"""How the compiles of any program get into a corpus, without a change to the program."""
