/** What was asked for makes no sense; one line says what. */
export class BadConfig extends Error {}
