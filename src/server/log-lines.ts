/**
 * Lines of the log on their way out. Those of one turn of the event loop go together: a write for each would cost a
 * small request more than reading its object. What is urgent goes at once, behind all that came before it.
 */

/** What a pipe takes at once: more than that may get mixed with what another process writes. */
const TOGETHER_BYTES_MAX = 4096

export class LogLines {
  readonly #write: (text: string) => void
  #waiting = ''
  #waitingBytes = 0
  #isDue = false

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  /** A whole line, which goes out before this turn of the event loop is over. */
  add(line: string): void {
    const bytes = Buffer.byteLength(line)
    if (this.#waitingBytes + bytes > TOGETHER_BYTES_MAX) this.flush()
    this.#waiting += line
    this.#waitingBytes += bytes
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.flush()
    })
  }

  /** Writes what waits. */
  flush(): void {
    if (this.#waiting === '') return
    const text = this.#waiting
    this.#waiting = ''
    this.#waitingBytes = 0
    this.#write(text)
  }
}
