/** One connection of the fuzzer: sends a shot and waits for the response, but never for long. */
import { connect, type Socket } from 'node:net'
import { type Answer, AnswerReader, NoAnswer } from './answers.ts'
import type { Shot } from './shots.ts'

export interface Result {
  readonly answers: readonly Answer[]
  /** A problem of the exchange itself, if any. */
  readonly problem: string | undefined
  /** The connection closed before any response. */
  readonly cutOff: boolean
}

/** A lane of shots: good ones share a connection, the others get a separate one. */
export class Lane {
  readonly #port: number
  readonly #answerMsMax: number
  #socket: Socket | undefined

  constructor(port: number, answerMsMax: number) {
    this.#port = port
    this.#answerMsMax = answerMsMax
  }

  async send(shot: Shot): Promise<Result> {
    if (shot.answer !== 'must' || shot.methods.length > 1) {
      this.close()
      const result = await this.#exchange(shot)
      this.close()
      return result
    }
    const isUsed = this.#socket !== undefined
    const result = await this.#exchange(shot)
    // A server may close an idle connection at any moment, including this one.
    return isUsed && result.cutOff ? this.#exchange(shot) : result
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #exchange(shot: Shot): Promise<Result> {
    const socket = this.#socket ?? connect({ port: this.#port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    this.#socket = socket
    if (shot.answer === 'gone') return abandoned(socket, shot.bytes)
    const reader = new AnswerReader(shot.methods)
    return new Promise(resolve => {
      const done = (problem: string | undefined, keep: boolean): void => {
        clearTimeout(timer)
        socket.off('data', take)
        for (const event of ENDS) socket.off(event, ended)
        socket.on('error', ignore)
        if (!keep) this.close()
        resolve({ answers: reader.answers, problem, cutOff: problem === NOTHING })
      }
      const take = (bytes: Buffer): void => {
        try {
          reader.push(bytes)
          const last = reader.answers.at(-1)
          if (shot.answer === 'must' && last !== undefined && reader.answers.length >= shot.methods.length) {
            done(undefined, !last.closes)
          }
        } catch (error) {
          done(said(error), false)
        }
      }
      const ended = (): void => done(endOf(reader, shot), false)
      const timer = setTimeout(() => done(`no answer within ${this.#answerMsMax} ms`, false), this.#answerMsMax)
      socket.off('error', ignore)
      socket.on('data', take)
      for (const event of ENDS) socket.on(event, ended)
      socket.write(shot.bytes, () => {
        if (shot.answer === 'may') socket.end()
      })
    })
  }
}

const ENDS = ['end', 'error', 'close'] as const
const ignore = (): void => {}
const NOTHING = 'the connection ended without an answer'

const said = (error: unknown): string => (error instanceof NoAnswer ? error.message : String(error))

/**
 * Closing is a valid response to bytes that are not HTTP, and to anything after a request that closed the connection.
 */
function endOf(reader: AnswerReader, shot: Shot): string | undefined {
  try {
    reader.end()
  } catch (error) {
    if (shot.answer === 'must') return said(error)
  }
  const { answers } = reader
  if (shot.answer === 'may') return undefined
  if (answers.length === 0) return NOTHING
  const isWhole = answers.length >= shot.methods.length || answers.at(-1)!.closes
  return isWhole ? undefined : `the connection ended after ${answers.length} of ${shot.methods.length} answers`
}

/** Sends and disconnects without waiting. */
function abandoned(socket: Socket, bytes: Buffer): Promise<Result> {
  return new Promise(resolve => {
    const done = (): void => {
      socket.destroy()
      resolve({ answers: [], problem: undefined, cutOff: false })
    }
    socket.on('error', done)
    socket.write(bytes, done)
  })
}
