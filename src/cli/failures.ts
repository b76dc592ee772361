/** How a command ends that did not do what it was asked. */

/** What was asked for makes no sense; one line says what. Exit code 2. */
export class BadUsage extends Error {}

/** What was asked for cannot be done; one line says why. Exit code 1. */
export class CommandFailed extends Error {}
