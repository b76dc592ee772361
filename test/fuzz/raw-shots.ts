/** Input that is not HTTP, incomplete, or more than one request. */
import { adminShot } from './admin-shots.ts'
import type { Dice } from './dice.ts'
import type { Target } from './draft.ts'
import { METHODS, oddValue } from './odd.ts'
import { type Shot, WELL_FORMED } from './shots.ts'

type Gun = (target: Target, dice: Dice) => Shot

const aGood: Gun = (target, dice) => dice.weighed(WELL_FORMED)(target, dice)

const may = (kind: string, bytes: Buffer, methods: readonly string[]): Shot => ({ kind, bytes, methods, answer: 'may' })

/** Lines that are invalid there, or valid only once. */
const LINES = [
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: +5',
  'Content-Length: 0x10',
  'Content-Length: 18446744073709551616',
  'Content-Length: 5368709121',
  'Content-Length: 5, 6',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\tchunked',
  ' folded: yes',
  '\tfolded',
  'No colon',
  ': no name',
  'Space before : colon',
  'Host: two.example',
  'Host: x@y',
  'Host:',
  'Connection: close, keep-alive, upgrade',
  'Upgrade: websocket',
  'Expect: nonsense',
  'X: a\rb',
  'X: a\nb',
  'X: \0',
  `X: ${'a'.repeat(20_000)}`,
  `${'a'.repeat(5_000)}: x`,
  '__proto__: x',
]

/** One line of the head inserted, removed, doubled or corrupted. */
const badHead: Gun = (target, dice) => {
  const { bytes, methods } = aGood(target, dice)
  const end = bytes.indexOf('\r\n\r\n')
  const lines = bytes.toString('latin1', 0, end).split('\r\n')
  const place = 1 + dice.below(lines.length)
  const change = dice.pick<() => string[]>([
    () => lines.toSpliced(place, 0, dice.pick(LINES)),
    () => lines.toSpliced(place, 0, dice.pick(LINES), dice.pick(LINES)),
    () => lines.toSpliced(place, 1),
    () => lines.toSpliced(place, 0, lines[dice.below(lines.length)]!),
    () => lines.toSpliced(place, 0, ...Array.from({ length: dice.size(3_000) }, (_, i) => `h${i}: x`)),
    () => lines.with(0, oddLine(lines[0]!, dice)),
  ])
  const head = Buffer.from(change().join(dice.chance(0.95) ? '\r\n' : '\n'), 'latin1')
  return may('bad head', Buffer.concat([head, bytes.subarray(end)]), methods)
}

const TARGETS = [
  '*',
  '',
  '/',
  '//',
  '/%',
  '/%00',
  '/..',
  '/../../etc/passwd',
  '/.%2e/',
  'http://localhost/a/b',
  'http://user:pass@localhost:1/a',
  'localhost:80',
  '/a b',
  '/a#b',
  '/\u00ff\u00fe',
  '/\0',
  '/a?b=\u00e9',
  '?a',
  '\\',
]

const VERSIONS = ['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', 'HTTP/1.1 x', '', 'X']

function oddLine(line: string, dice: Dice): string {
  const [method = '', target = '', version = ''] = line.split(' ')
  return dice.pick([
    `${dice.pick([...METHODS, 'CONNECT', 'get', 'G T', '', 'X'.repeat(300), '\0'])} ${target} ${version}`,
    `${method} ${dice.pick(TARGETS)} ${version}`,
    `${method} ${target} ${dice.pick(VERSIONS)}`,
    `${method} /${'a'.repeat(dice.size(30_000))} ${version}`,
    `${method}  ${target}  ${version}`,
    `${method} ${target}${oddValue(dice)} ${version}`,
  ])
}

/** Changes any byte. */
const flipped: Gun = (target, dice) => {
  const { bytes, methods } = aGood(target, dice)
  const out = Buffer.from(bytes)
  for (let times = 1 + dice.below(4); times > 0; times--) out[dice.below(out.length)] = dice.below(256)
  return may('flipped', out, methods)
}

/** Truncated anywhere; then the client closes its side, or disconnects. */
const half: Gun = (target, dice) => {
  const { bytes, methods } = aGood(target, dice)
  const part = bytes.subarray(0, dice.below(bytes.length + 1))
  return { kind: 'half', bytes: part, methods, answer: dice.chance(0.5) ? 'may' : 'gone' }
}

/** Complete, but disconnects before the response. */
const gone: Gun = (target, dice) => ({ ...aGood(target, dice), kind: 'gone', answer: 'gone' })

/** Several pipelined requests. */
const pipelined: Gun = (target, dice) => {
  const all = Array.from({ length: 2 + dice.below(4) }, () => aGood(target, dice))
  const methods = all.flatMap(shot => shot.methods)
  return { kind: 'pipelined', bytes: Buffer.concat(all.map(({ bytes }) => bytes)), methods, answer: all[0]!.answer }
}

/** A body with HTTP transfer coding, valid or not. */
const transferred: Gun = (target, dice) => {
  const { bytes, methods } = aGood(target, dice)
  const end = bytes.indexOf('\r\n\r\n')
  const lines = bytes
    .toString('latin1', 0, end)
    .split('\r\n')
    .filter(line => !/^content-length:/i.test(line))
  const body = bytes.subarray(end + 4)
  const size = dice.pick([body.length.toString(16), body.length.toString(16), '-1', 'g', 'f'.repeat(17), '0', ''])
  const extension = dice.pick(['', '', ';a=b', `;${'x'.repeat(dice.size(20_000))}`])
  const head = Buffer.from(
    [...lines, 'Transfer-Encoding: chunked', '', `${size}${extension}`, ''].join('\r\n'),
    'latin1',
  )
  const tail = dice.pick(['\r\n0\r\n\r\n', '\r\n0\r\nX: y\r\n\r\n', '\r\n0\r\n', '0\r\n\r\n', '\n0\n\n', ''])
  return may('transferred', Buffer.concat([head, body, Buffer.from(tail)]), methods)
}

const noise: Gun = (_, dice) => may('noise', dice.bytes(dice.size(2_000)), ['GET'])

export const RAW: readonly (readonly [number, Gun])[] = [
  [4, badHead],
  [2, flipped],
  [2, half],
  [2, gone],
  [2, pipelined],
  [2, transferred],
  [1, noise],
]

const ADMIN_PART = 0.04

/** Mostly valid HTTP: anything else is refused early. */
export const aimed: Gun = (target, dice) => {
  const admin = target.admin?.()
  if (admin !== undefined && dice.chance(ADMIN_PART)) return adminShot(admin, dice)
  return dice.weighed(dice.chance(0.85) ? WELL_FORMED : RAW)(target, dice)
}
