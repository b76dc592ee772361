/** The version of the program, as package.json has it. A constant, since one form of the program has no package. */
export const VERSION = '0.2.0'
