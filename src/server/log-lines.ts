/**
 * Buffers log lines and writes those of one turn of the event loop together: a write per line would cost a small
 * request more than reading its object. Urgent lines are flushed at once, after all earlier ones.
 */

/** The longest atomic write to a pipe: a longer one may be interleaved with another process's. */
const TOGETHER_BYTES_MAX = 4096

export class LogLines {
  readonly #write: (text: string) => void
  #waiting: string[] = []
  #characters = 0
  #isDue = false

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  /** Adds a complete line, which is written before this turn of the event loop ends. */
  add(line: string): void {
    if (this.#characters + line.length > TOGETHER_BYTES_MAX) this.flush()
    this.#waiting.push(line)
    this.#characters += line.length
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.flush()
    })
  }

  flush(): void {
    const lines = this.#waiting
    if (lines.length === 0) return
    this.#waiting = []
    this.#characters = 0
    const text = lines.join('')
    // Measured once for all lines, since multibyte characters are rare.
    if (Buffer.byteLength(text) <= TOGETHER_BYTES_MAX) this.#write(text)
    else for (const line of lines) this.#write(line)
  }
}
