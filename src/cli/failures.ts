/** Errors that end a command. */

/** A usage error; the message is one line. Exit code 2. */
export class BadUsage extends Error {}

/** The command failed; the message is one line. Exit code 1. */
export class CommandFailed extends Error {}
