/**
 * Lines of the log on their way out. Those of one turn of the event loop go together: a write for each would cost a
 * small request more than reading its object. What is urgent goes at once, behind all that came before it.
 */

/** What a pipe takes at once: more than that may get mixed with what another process writes. */
const TOGETHER_BYTES_MAX = 4096

export class LogLines {
  readonly #write: (text: string) => void
  #waiting: string[] = []
  #characters = 0
  #isDue = false

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  /** A whole line, which goes out before this turn of the event loop is over. */
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

  /** Writes what waits. */
  flush(): void {
    const lines = this.#waiting
    if (lines.length === 0) return
    this.#waiting = []
    this.#characters = 0
    const text = lines.join('')
    // Measured once for all of them: lines seldom have characters of more than a byte.
    if (Buffer.byteLength(text) <= TOGETHER_BYTES_MAX) this.#write(text)
    else for (const line of lines) this.#write(line)
  }
}
