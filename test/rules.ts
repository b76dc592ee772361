/** The numbered rules of `docs/rules`, and where source and tests cite them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Rule {
  readonly id: string
  readonly title: string
  /** The rule itself, below its heading. */
  readonly text: string
}

/** A page of rules, in the order of the page. */
export interface Page {
  readonly file: string
  readonly title: string
  readonly rules: readonly Rule[]
}

const FOLDER = join('docs', 'rules')
const HEADING = /^### ([RGDPA]\d+) (.+) <a id="([a-z]\d+)"><\/a>$/

function readPage(root: string, file: string): Page {
  const lines = readFileSync(join(root, FOLDER, file), 'utf8').split('\n')
  const rules: { readonly id: string; readonly title: string; text: string }[] = []
  let isOpen = false
  for (const line of lines) {
    if (line.startsWith('### ')) {
      const [, id = '', title = '', anchor] = HEADING.exec(line) ?? []
      if (anchor === undefined || anchor !== id.toLowerCase()) throw new Error(`${file}: not a rule's heading: ${line}`)
      rules.push({ id, title, text: '' })
      isOpen = true
    } else if (line.startsWith('#')) isOpen = false
    else if (isOpen) rules.at(-1)!.text += `${line}\n`
  }
  return { file, title: lines[0]!.replace(/^# /, ''), rules }
}

/** The pages in the order of the index. */
export function rulePages(root: string): Page[] {
  const index = readFileSync(join(root, FOLDER, 'README.md'), 'utf8')
  const named = new Set([...index.matchAll(/\]\((\w[\w-]*\.md)\)/g)].map(([, file]) => file!))
  const stored = readdirSync(join(root, FOLDER)).filter(file => file !== 'README.md')
  const missing = stored.filter(file => !named.has(file))
  if (missing.length > 0) throw new Error(`docs/rules/README.md does not name ${missing.join(', ')}`)
  return [...named].map(file => readPage(root, file))
}

export interface Citation {
  /** The rule's id; for a clause (`R30.2`), that of the rule before the dot. */
  readonly id: string
  readonly file: string
  /** The name of the test, or the comment in the source. */
  readonly text: string
}

const REFERENCE = /\b([RGDPA])(\d+)(?:\.\d+)?(?:[–-][RGDPA]?(\d+))?\b/g

/** Expands ranges such as `R75–R78`. */
function idsIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].flatMap(([, letter, first, last]) => {
    const from = Number(first)
    return Array.from({ length: Number(last ?? first) - from + 1 }, (_, i) => `${letter}${from + i}`)
  })
}

/** A test's name starts with the rules it proves: `R13–R15 R19 PutObject: …`, after the variant that it runs for. */
const NAME = /(['"`])((?:\$\{[^}]+\}:? ?)?[RGDPA]\d+[^\n]*?[^\\])\1/g
const LEADING = /^(?:\$\{[^}]+\}:? ?)?((?:[RGDPA]\d+(?:\.\d+)?(?:[–-][RGDPA]?\d+)?(?:, |[ /+:]+))+)\S/

/** A slash and a star inside a string, as in the ARN of every object, start no comment. */
const COMMENT = /(?<=^|\s)\/\*[\s\S]*?\*\/|(?<=^|[\s;{}])\/\/.*$/gm

const isTestFile = (path: string): boolean => path.startsWith('test') || /\.test\.ts$|(^|\/)suite[^/]*\.ts$/.test(path)

function typescript(root: string): string[] {
  return ['src', 'test']
    .flatMap(top => readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map(name => join(top, name)))
    .filter(path => path.endsWith('.ts'))
    .sort()
}

const cited = (file: string, text: string, ids: readonly string[]): Citation[] => ids.map(id => ({ id, file, text }))

function testNames(file: string, code: string): Citation[] {
  return [...code.replace(COMMENT, '').matchAll(NAME)].flatMap(([, , name]) =>
    cited(file, name!, idsIn(LEADING.exec(name!)?.[1] ?? '')),
  )
}

function comments(file: string, code: string): Citation[] {
  return [...code.matchAll(COMMENT)].flatMap(([text]) => cited(file, text, idsIn(text)))
}

export interface Citations {
  readonly inSource: readonly Citation[]
  /** Citations in test names, which alone are evidence. */
  readonly inTests: readonly Citation[]
  readonly inTestComments: readonly Citation[]
}

export function citations(root: string): Citations {
  const inSource: Citation[] = []
  const inTests: Citation[] = []
  const inTestComments: Citation[] = []
  for (const file of typescript(root)) {
    const code = readFileSync(join(root, file), 'utf8')
    if (isTestFile(file)) {
      inTests.push(...testNames(file, code))
      inTestComments.push(...comments(file, code))
    } else inSource.push(...comments(file, code))
  }
  return { inSource, inTests, inTestComments }
}
