/** Escapes text for a terminal or a log: characters that move the cursor, end a line or reorder the display. */

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]/gu

/** As in a JSON or JavaScript string, so that a JSON text keeps its meaning. */
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

export const printable = (text: string): string => text.replace(UNPRINTABLE, escaped)
