/** Shots at the console's port: every route of the admin API, correctly signed, with valid or odd fields. */
import { ADMIN_ROUTES } from '../../src/admin/index.ts'
import type { Route } from '../../src/admin/route.ts'
import { policy } from '../specimens/documents.ts'
import { type Pair, type Signer, sha256, signedByHeader } from '../specimens/signing.ts'
import type { Dice } from './dice.ts'
import { inTarget } from './draft.ts'
import { oddValue } from './odd.ts'
import { type Shot, written } from './shots.ts'
import { spoilJson, spoilText } from './spoil.ts'

/** None of these affects what other shots need. */
const RIGHT: Readonly<Record<string, readonly unknown[]>> = {
  accountId: ['333333333333', '444444444444'],
  accessKey: ['AKADMINMADE', 'AKADMINMADE2'],
  bucket: ['admin-made', 'admin-made-2'],
  name: ['admin-made', 'admin-made-2', 'bob'],
  user: ['bob', 'eve'],
  policy: ['p'],
  document: [policy('admin-made'), JSON.parse(policy('admin-made'))],
  versioning: ['on', 'suspended'],
  mode: ['governance'],
  days: [1],
  limit: ['1', '1000'],
}

const valueFor = (name: string, dice: Dice): unknown =>
  dice.chance(0.85) ? dice.pick(RIGHT[name] ?? [true, false, 'a text', 7]) : oddValue(dice)

const inPath = (value: unknown): string => inTarget(String(value)).replace(/[?/]/g, c => (c === '?' ? '%3f' : '%2f'))

function fieldsAt(route: Route, place: string, dice: Dice): [string, unknown][] {
  const names = Object.keys(route.input).filter(name => route.input[name]!.place === place)
  return names.filter(() => dice.chance(0.85)).map(name => [name, valueFor(name, dice)])
}

function bodyOf(route: Route, dice: Dice): Buffer {
  const fields = fieldsAt(route, 'body', dice)
  if (fields.length === 0 && dice.chance(0.8)) return Buffer.alloc(0)
  const text = Buffer.from(JSON.stringify(Object.fromEntries(fields))).toString('latin1')
  return Buffer.from(dice.chance(0.4) ? spoilJson(text, dice) : text, 'latin1')
}

export function adminShot(signer: Signer, dice: Dice): Shot {
  const route = dice.pick(ADMIN_ROUTES.routes)
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => inPath(valueFor(name, dice)))
  const query = fieldsAt(route, 'query', dice).map(([name, value]) => `${name}=${inPath(value).replaceAll('&', '%26')}`)
  const target = dice.chance(0.95) ? path : `/${inTarget(spoilText(path, dice))}`
  const body = bodyOf(route, dice)
  const headers: Pair[] = [
    ['Host', 'localhost'],
    ['Content-Type', 'application/json'],
  ]
  const unsigned = {
    method: route.method,
    target: query.length === 0 ? target : `${target}?${query.join('&')}`,
    headers,
  }
  const { request } = signedByHeader(signer, unsigned, { contentHash: sha256(body) })
  const length: Pair[] = body.length > 0 ? [['Content-Length', String(body.length)]] : []
  const bytes = written({ ...request, headers: [...request.headers, ...length] }, body)
  return {
    kind: 'admin',
    bytes,
    methods: [route.method],
    answer: bytes.length > 15_000 ? 'may' : 'must',
    at: 'console',
  }
}
