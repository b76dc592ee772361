/**
 * The output of `npm test` to a pipe or a file: failures, skipped tests and a closing line. The default
 * export is a reporter for Node's test runner; Bun has no such interface, so its output is read line by line.
 */
import { inspect } from 'node:util'

const COUNTS = ['tests', 'pass', 'fail', 'cancelled', 'skipped', 'todo']
/** A parent fails because a child did; the child reports the reason. */
const OF_A_CHILD = 'subtestsFailed'

export function closingLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

const indented = text => text.replaceAll(/^/gm, '    ')

function failureText({ name, file, line, details }) {
  const error = details?.error
  const cause = error?.cause ?? error
  const where = file === undefined ? '' : ` (${file}${line === undefined ? '' : `:${line}`})`
  return `✖ ${name}${where}\n${indented(inspect(cause))}\n`
}

function skipText({ name, skip }) {
  return `skipped: ${name}${typeof skip === 'string' && skip !== '' ? `: ${skip}` : ''}\n`
}

export default async function* summary(events) {
  const counts = {}
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.details?.error?.failureType !== OF_A_CHILD) yield failureText(data)
    if (type === 'test:pass' && data.skip !== undefined && data.skip !== false) yield skipText(data)
    if (type !== 'test:diagnostic' || data.nesting !== 0) continue
    const [name, value] = data.message.split(' ')
    // The runner's own count comes last, after any output of a test in the same format.
    if (COUNTS.includes(name) && /^\d+$/.test(value)) counts[name] = Number(value)
  }
  const { pass = 0, fail = 0, cancelled = 0, skipped = 0, todo = 0 } = counts
  yield `${closingLine({ passed: pass, failed: fail + cancelled, skipped: skipped + todo })}\n`
}

const RESULT = /^\((pass|fail|skip|todo)\) /
const HEADER = /^\S+\.test\.js:$/
const TOTAL = /^ +(\d+) (pass|fail|skip|todo|errors?)$/

/** Reads Bun's lines and passes on failures, skipped tests and, at the end, the counts. */
export class BunSummary {
  #print
  #file = ''
  /** Lines since the last result: those of a failure precede it. */
  #recent = []
  #counts = new Map()

  constructor(print) {
    this.#print = print
  }

  take(line) {
    const total = TOTAL.exec(line)
    if (total !== null) this.#counts.set(total[2].replace('errors', 'error'), Number(total[1]))
    const result = RESULT.exec(line)?.[1]
    if (HEADER.test(line)) this.#file = line.slice(0, -1)
    else if (result === undefined) {
      this.#recent.push(line)
      return
    }
    if (result === 'fail') this.#print(`${[...this.#recent, `✖ ${this.#named(line)}`].join('\n')}\n`)
    // Bun does not report the reason; Node does for the same test.
    if (result === 'skip' || result === 'todo') this.#print(`skipped: ${this.#named(line)}\n`)
    this.#recent = []
  }

  #named(line) {
    return `${line.replace(RESULT, '').replace(/ \[[^\]]*\]$/, '')} (${this.#file})`
  }

  /** `isFine`: how the process ended. A run that crashed has no total; its last lines are printed. */
  end(isFine) {
    const count = name => this.#counts.get(name) ?? 0
    const isComplete = this.#counts.has('pass')
    const errors = count('error')
    if (!isFine && (!isComplete || errors > 0 || count('fail') === 0)) this.#print(`${this.#recent.join('\n')}\n`)
    const lost = !isFine && count('fail') + errors === 0 ? 1 : 0
    const failed = count('fail') + errors + lost
    this.#print(`${closingLine({ passed: count('pass'), failed, skipped: count('skip') + count('todo') })}\n`)
  }
}
