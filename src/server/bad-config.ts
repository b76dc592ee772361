/** The configuration is invalid; the message is one line for the operator. */
export class BadConfig extends Error {}
