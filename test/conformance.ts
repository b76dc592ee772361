/** Which test proves which promise, read from the names of the tests. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HEADERS_NOT_OFFERED, NOT_OFFERED } from '../src/edge/routes.ts'
import { OPERATIONS } from '../src/operations/index.ts'
import { PROMISES } from './requirements.ts'

interface Proof {
  readonly file: string
  readonly name: string
}

/** A name begins with what it proves: `R13–R15 R19 PutObject: …`, after whatever it is run for. */
const NAME = /(['"`])((?:\$\{[^}]+\}:? ?)?(?:attacks? [\d–, ]+ )?[RDP]\d+(?:(?!\1)[^\n\\])*)\1/g
const REFERENCES = /^(?:\$\{[^}]+\}:? ?)?(?:attacks? [\d–, ]+ )?((?:[RDP]\d+(?:[–-][RDP]?\d+)?(?:, |[ /+:]|$))+)/
const REFERENCE = /([RDP])(\d+)(?:[–-][RDP]?(\d+))?/g

function idsIn(name: string): string[] {
  const references = REFERENCES.exec(name)?.[1] ?? ''
  return [...references.matchAll(REFERENCE)].flatMap(([, letter, first, last]) => {
    const from = Number(first)
    return Array.from({ length: Number(last ?? first) - from + 1 }, (_, i) => `${letter}${from + i}`)
  })
}

function testFiles(root: string): string[] {
  return ['src', 'test']
    .flatMap(top => readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map(name => join(top, name)))
    .filter(path => /\.ts$/.test(path) && (path.startsWith('test') || /\.test\.ts$|suite[^/]*\.ts$/.test(path)))
    .sort()
}

export function proofs(root: string): Map<string, Proof[]> {
  const found = new Map<string, Proof[]>()
  for (const file of testFiles(root)) {
    for (const [, , name] of readFileSync(join(root, file), 'utf8').matchAll(NAME)) {
      for (const id of idsIn(name!)) {
        const proof = { file, name: name!.replaceAll(/^\$\{[^}]+\}:? ?/g, '').replaceAll(/\$\{[^}]*\}/g, '…') }
        found.set(id, [...(found.get(id) ?? []), proof])
      }
    }
  }
  return found
}

export function unproved(found: ReadonlyMap<string, readonly Proof[]>): string[] {
  return PROMISES.flatMap(({ all }) => all.map(({ id }) => id).filter(id => !found.has(id)))
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '\\<')

function row(id: string, promise: string, tests: readonly Proof[]): string {
  const byFile = new Map<string, Set<string>>()
  for (const { file, name } of tests) byFile.set(file, (byFile.get(file) ?? new Set()).add(name))
  const shown = [...byFile].map(([file, names]) => `\`${file}\`: ${[...names].map(cell).join(' · ')}`)
  return `| ${id} | ${cell(promise)} | ${shown.join('<br>')} |`
}

/** Headers that no operation evaluates, and where the others are evaluated. */
function headerRow(name: (typeof HEADERS_NOT_OFFERED)[number]): string {
  const by = OPERATIONS.filter(({ evaluates }) => evaluates.includes(name)).map(one => one.name)
  const where = by.length === 0 ? 'every request' : `every request but ${by.join(', ')}`
  return `| \`x-amz-${name.slice(1)}\`, \`x-svc-${name.slice(1)}\` | ${where} |`
}

/** S3 features that are not offered: those the routes refuse by themselves, and those that documents refuse. */
function notOffered(): string {
  return [
    '## What is not offered',
    '',
    '`501 NotImplemented`, and the message names it:',
    '',
    '| what | where |',
    '| --- | --- |',
    ...[...NOT_OFFERED].map(name => `| \`?${name}\` | buckets and objects, every method |`),
    ...HEADERS_NOT_OFFERED.map(headerRow),
    '| `MfaDelete` Enabled | versioning |',
    '| `TargetGrants`, `PartitionedPrefix` | logging |',
    '| elements other than `LocationConstraint` | CreateBucket |',
    '',
    'Refused in other words, or without effect:',
    '',
    '| what | answer |',
    '| --- | --- |',
    '| storage classes of another kind of storage (`GLACIER` and others) | `400 InvalidStorageClass`, by name |',
    '| lifecycle transitions | validated, kept and shown; nothing is moved, and the log says so |',
  ].join('\n')
}

export function conformanceTable(found: ReadonlyMap<string, readonly Proof[]>): string {
  const sections = PROMISES.map(({ title, all }) =>
    [
      `## ${title}`,
      '',
      '|  | promise | proved by |',
      '| --- | --- | --- |',
      ...all.map(({ id, promise }) => row(id, promise, found.get(id) ?? [])),
    ].join('\n'),
  )
  return [
    '# Conformance',
    '',
    'Made from the names of the tests by `npm run conformance`; a test holds that it is up to date and that nothing is',
    'missing. Tests over HTTP run once in each dialect.',
    '',
    sections.join('\n\n'),
    '',
    notOffered(),
    '',
  ].join('\n')
}
