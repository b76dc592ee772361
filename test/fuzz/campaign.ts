/** Shoots at a running server and checks its responses. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Answer } from './answers.ts'
import { Dice } from './dice.ts'
import type { Target } from './draft.ts'
import { Lane, type Result } from './exchange.ts'
import { aimed } from './raw-shots.ts'
import type { Shot } from './shots.ts'

export interface Campaign {
  readonly port: number
  readonly consolePort?: number
  readonly seed: number
  readonly target: Target
  /** Must never appear in a response. */
  readonly secret: string
  readonly answerMsMax: number
  readonly lanes: number
  /** Where failing requests are saved, as hex. */
  readonly folder: string
}

export interface Failure {
  readonly shot: number
  readonly kind: string
  readonly problem: string
  readonly file: string
}

export class Tally {
  readonly failures: Failure[] = []
  readonly statuses = new Map<number, number>()
  readonly kinds = new Map<string, number>()
  /** Shots whose connection closed without a response. */
  closed = 0
  shots = 0

  get failed(): number {
    return new Set(this.failures.map(({ shot }) => shot)).size
  }
}

const count = <K>(map: Map<K, number>, key: K): void => void map.set(key, (map.get(key) ?? 0) + 1)

/** The one valid status above 499: the server does not implement the request. */
const NOT_IMPLEMENTED = 501

/** Several connections may send the same part at once, and the older of two is asked to try again. */
const OVERTAKEN = /<Code>SlowDown<\/Code><Message>A newer upload of this part number/

const LEAKS = /node:internal|\/dist\/src\/|\.ts:\d+|\bat [A-Za-z.#<>]+ \(/

/** XML; HTML from a website, JSON from the admin API. */
const DOCUMENT = /^(<\?xml|<!DOCTYPE html>|\{)/

/** Properties that no response may have, whatever the request. */
export function problemsOf({ status, head, body }: Answer, secret: string): string[] {
  const problems: string[] = []
  const isOvertaken = status === 503 && OVERTAKEN.test(body.toString('latin1'))
  const isFailure = status >= 500 && status !== NOT_IMPLEMENTED && !isOvertaken
  if (status < 200 || isFailure) problems.push(`status ${status}: ${body}`)
  if (/^x-injected:/im.test(head)) problems.push('a header of the client\u2019s making')
  const text = `${head}${body.toString('latin1')}`
  if (text.includes(secret)) problems.push('the secret')
  if (status >= 400 && LEAKS.test(text)) problems.push(`words from inside: ${body}`)
  if (status >= 400 && body.length > 0 && !DOCUMENT.test(body.toString('latin1', 0, 15))) {
    problems.push(`an error that is no document: ${body.toString('latin1', 0, 80)}`)
  }
  return problems
}

/** Shots from `first` up to, not including, `end`. */
export async function shoot(campaign: Campaign, tally: Tally, first: number, end: number): Promise<void> {
  let next = first
  const lane = async (): Promise<void> => {
    const connection = new Lane(campaign.port, campaign.answerMsMax)
    const console = new Lane(campaign.consolePort ?? 0, campaign.answerMsMax)
    for (let number = next++; number < end; number = next++) {
      const shot = aimed(campaign.target, new Dice(campaign.seed, number))
      judge(campaign, tally, number, shot, await (shot.at === 'console' ? console : connection).send(shot))
    }
    connection.close()
    console.close()
  }
  await Promise.all(Array.from({ length: campaign.lanes }, lane))
}

function judge(campaign: Campaign, tally: Tally, number: number, shot: Shot, result: Result): void {
  tally.shots++
  count(tally.kinds, shot.kind)
  for (const { status } of result.answers) count(tally.statuses, status)
  if (result.answers.length === 0 && result.problem === undefined) tally.closed++
  const problems = result.answers.flatMap(answer => problemsOf(answer, campaign.secret))
  if (result.problem !== undefined) problems.push(result.problem)
  if (problems.length === 0) return
  const file = join(campaign.folder, `${campaign.seed}-${number}.hex`)
  mkdirSync(campaign.folder, { recursive: true })
  writeFileSync(file, `${shot.bytes.toString('hex')}\n`)
  for (const problem of problems) tally.failures.push({ shot: number, kind: shot.kind, problem, file })
}
