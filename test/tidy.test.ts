/** House rules, enforced: permitted imports, length limits, and constructs that are banned. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ADMIN_ROUTES } from '../src/admin/index.ts'
import { openApi } from '../src/admin/openapi.ts'

/** This file runs from `dist/test`, or from `test` where the runtime reads TypeScript. */
const here = dirname(fileURLToPath(import.meta.url))
const root = resolve(here, basename(dirname(here)) === 'dist' ? '../..' : '..')

/** Each layer may import only those below it. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  digest: ['lib'],
  model: ['lib'],
  http: ['model', 'lib'],
  meta: ['lib'],
  // An S3 client, for the blob driver and for import.
  s3: ['auth', 'http', 'lib'],
  blobs: ['s3', 'digest', 'lib'],
  crypto: ['lib'],
  rules: ['model', 'lib'],
  store: ['meta', 'blobs', 'crypto', 'rules', 'model', 'digest', 'lib'],
  maintenance: ['store', 'rules', 'model', 'lib', 'meta', 'blobs'],
  backup: ['store', 'model', 'lib', 'meta', 'blobs'],
  auth: ['rules', 'http', 'model', 'digest', 'lib'],
  operations: ['store', 'rules', 'http', 'model', 'lib'],
  edge: ['operations', 'auth', 'rules', 'http', 'model', 'lib'],
  telemetry: ['edge', 'operations', 'store', 'rules', 'http', 'model', 'lib'],
  admin: ['telemetry', 'edge', 'operations', 'auth', 'backup', 'maintenance', 'store', 'rules', 'http', 'model', 'lib'],
  // Commands and their options: the user's entry point, above everything.
  cli: ['', 'server', 'admin', 'edge', 's3', 'auth', 'backup', 'maintenance', 'store', 'rules', 'http', 'model', 'lib'],
  // The server inside another process: the programmer's entry point.
  embedded: ['server', 'edge', 'operations', 'maintenance', 'store', 'rules', 'http', 'model', 'lib'],
  // The entry points: the program and the package.
  '': ['embedded', 'server'],
  // Composition: assembles a running server, and is the only layer that names a driver.
  server: [
    '',
    'admin',
    'telemetry',
    'edge',
    'operations',
    'auth',
    'backup',
    'maintenance',
    'store',
    'rules',
    'http',
    'model',
    'meta',
    'blobs',
    'crypto',
    'lib',
  ],
}

/** The store and its maintenance know only the interfaces of these layers, never a driver. */
const SEAMS: Readonly<Record<string, readonly string[]>> = {
  meta: ['meta.ts'],
  blobs: ['blobs.ts'],
  crypto: ['keyring.ts', 'key-wrap.ts', 'sealing.ts', 'secret-box.ts', 'cluster-key.ts'],
}

const LINES_MAX = 400
const FUNCTION_LINES_MAX = 70
const LINE_CHARACTERS_MAX = 120

interface Source {
  readonly path: string
  readonly folder: string
  readonly text: string
  readonly isTest: boolean
}

function sources(top: string): Source[] {
  return readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.tsx?$/.test(name))
    .map(name => {
      const path = join(top, name)
      const folder = dirname(name) === '.' ? '' : name.split('/')[0]!
      const isTest = /\.test\.ts$|(^|\/)suite[^/]*\.ts$/.test(name)
      return { path, folder, text: readFileSync(join(root, path), 'utf8'), isTest }
    })
}

const code = sources('src')
/** Pages for browsers: they know nothing of the server but its HTTP API. */
const pages = sources('console/src')
const everything = [...code, ...pages, ...sources('test'), ...sources('bench')]
const core = code.filter(source => !source.isTest)

/** Approximate: good enough to look for calls. */
const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

function importsOf(source: Source): string[] {
  return [...source.text.matchAll(/from '(\.[^']+)'/g)].map(match =>
    relative(join(root, 'src'), resolve(root, dirname(source.path), match[1]!)),
  )
}

const none = (problems: readonly string[]): void => assert.deepEqual(problems, [])

test('layers: each imports only the layers below it', () => {
  const bad: string[] = []
  for (const source of core) {
    const may = MAY[source.folder]
    assert(may !== undefined, `${source.path}: no layer of this name`)
    for (const target of importsOf(source)) {
      const folder = target.includes('/') ? target.split('/')[0]! : ''
      if (folder === source.folder) continue
      if (!may.includes(folder)) bad.push(`${source.path}: ${source.folder} may not import ${target}`)
      const seam = SEAMS[folder]
      const isComposition = source.folder === 'server'
      if (!isComposition && seam !== undefined && !seam.includes(target.split('/')[1]!)) {
        bad.push(`${source.path}: ${target} is not a seam`)
      }
    }
  }
  none(bad)
})

test('console: its pages import nothing of the server', () => {
  const bad = pages.flatMap(source => importsOf(source).map(target => ({ path: source.path, target })))
  none(
    bad.filter(({ target }) => !target.startsWith('../console/src/')).map(({ path, target }) => `${path}: ${target}`),
  )
})

test('console: its client agrees with the description of the admin API', async () => {
  const { consoleClient } = await import(pathToFileURL(join(root, 'scripts/console-client.mjs')).href)
  // The formatter changes only these characters.
  const unformatted = (text: string): string => text.replace(/[\s,;()|]/g, '')
  const committed = readFileSync(join(root, 'console/src/api/admin-api.ts'), 'utf8')
  const isCurrent = unformatted(committed) === unformatted(consoleClient(openApi(ADMIN_ROUTES.routes)))
  assert(isCurrent, 'console/src/api/admin-api.ts is out of date: npm run console-client')
})

test('imports: no cycles, not even of types', () => {
  const targets = new Map([...code, ...pages].map(source => [relative('src', source.path), importsOf(source)]))
  const finished = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '))
    if (finished.has(file) || way.includes(file)) return
    for (const target of targets.get(file) ?? []) visit(target, [...way, file])
    finished.add(file)
  }
  for (const file of targets.keys()) visit(file, [])
  none(circles)
})

test('control flow: values that may be promises are awaited, not passed to continuations', () => {
  const bad = core.filter(({ text }) => /\b(andThen|orElse|andFinally)\b/.test(withoutComments(text)))
  none(bad.map(({ path }) => path))
})

test('runtimes: differences of Bun are in one file, and no response is destroyed', () => {
  const bad: string[] = []
  for (const { path, text } of core) {
    const plain = withoutComments(text)
    if (/versions\.bun|\bBun\b/.test(plain) && path !== 'src/lib/runtime.ts') bad.push(`${path}: looks for Bun`)
    // On Bun that completes the response: http/break-off.ts closes the connection instead.
    if (/response\.destroy\(/.test(plain)) bad.push(`${path}: destroys a response`)
  }
  none(bad)
})

test('seams: nothing in the core uses fs, the clock or randomness directly', () => {
  const bad: string[] = []
  const ABOVE = ['', 'server', 'cli']
  // Composition and commands have no layer above that could inject these.
  for (const { path, text } of core.filter(({ folder }) => !ABOVE.includes(folder))) {
    const plain = withoutComments(text)
    if (/from 'node:fs(\/promises)?'/.test(plain) && !/^src\/lib\/(disk|liveness-socket)\.ts$/.test(path)) {
      bad.push(`${path}: reaches for the filesystem past the disk`)
    }
    if (
      /\bDate\.now\(|new Date\(\)|(?<![.\w])setTimeout\(|(?<![.\w])setInterval\(/.test(plain) &&
      path !== 'src/lib/clock.ts'
    ) {
      bad.push(`${path}: reaches for time past the clock`)
    }
    if (
      /\bMath\.random\(|\brandomBytes\(|\brandomUUID\(|\brandomFillSync\(/.test(plain) &&
      path !== 'src/lib/random.ts'
    ) {
      bad.push(`${path}: reaches for chance past the random seam`)
    }
  }
  none(bad)
})

/** Records that may be removed outside the gate: those that are not versions. */
const OTHERS =
  'deleted upload completed bucket document fence account formerAccount formerUser user accessKey keyOf owned ' +
  'rotation usageBase usageSlot garbage'
const OTHER_RECORDS = new RegExp(`^(recordKey\\.(${OTHERS.replaceAll(' ', '|')})\\(|ahead$|keyUseScanKey\\()`)

test('P32: version records are removed by the lock gate only', () => {
  const bad: string[] = []
  for (const { path, text } of core) {
    const plain = withoutComments(text)
    // Reclaiming garbage removes records of blobs, contents, parts and garbage, and a cluster removes those of its
    // members: neither even knows versions.
    const isRelease = path === 'src/store/reclaim/release-garbage.ts'
    const isCluster = path.startsWith('src/store/cluster/')
    const knowsVersions = /versionFormat|recordKey\.(current|older)/.test(plain)
    if ((isRelease || isCluster) && knowsVersions) bad.push(`${path}: knows versions`)
    if (
      isRelease ||
      isCluster ||
      path === 'src/store/objects/lock-gate.ts' ||
      path === 'src/store/commit/transaction.ts'
    )
      continue
    for (const [, what] of plain.matchAll(/\btx\.remove\(((?:[^()]|\([^()]*\))*)\)/g)) {
      if (!OTHER_RECORDS.test(what!)) bad.push(`${path}: removes ${what}`)
    }
    if (/value: undefined/.test(plain) && /^src\/(store|maintenance)/.test(path))
      bad.push(`${path}: deletes past the decision`)
  }
  none(bad)
  const gate = readFileSync(join(root, 'src/store/objects/lock-gate.ts'), 'utf8')
  assert.match(gate, /const refusal = mayRemove\(/, 'the gate asks the lock rule')
})

test('P23: a key is disabled only where locks are checked', () => {
  const bad = core.filter(
    ({ path, text }) => path !== 'src/store/keys/named-keys.ts' && /keyring\.disable\(/.test(text),
  )
  none(bad.map(({ path }) => path))
})

test('rules are pure: no clock, no I/O, nothing asynchronous', () => {
  const bad = core
    .filter(({ folder }) => folder === 'rules')
    .filter(({ text }) => /\basync\b|\bawait\b|Promise</.test(withoutComments(text)))
  none(bad.map(({ path }) => path))
})

/** Constants and compiled patterns are allowed at module level; mutable state belongs to a caller. */
test('rules are pure: no module state and no cache', () => {
  const bad: string[] = []
  for (const { path, text } of core.filter(({ folder }) => folder === 'rules')) {
    const plain = withoutComments(text)
    for (const [, name] of plain.matchAll(/^(?:export )?(?:let|var) (\w+)/gm)) bad.push(`${path}: ${name} may change`)
    if (/parse-cache\.ts'|memoize-last\.ts'|new Weak(Map|Set|Ref)\b/.test(plain)) bad.push(`${path}: a cache`)
    for (const [, name, made] of plain.matchAll(/^(?:export )?const (\w+)[^=\n]*= (new \w+)?/gm)) {
      const changes = `(?:set|add|delete|clear|push|pop|shift|unshift|splice|sort|reverse|fill)\\(`
      const isChanged = new RegExp(`\\b${name}(?:\\.${changes}|\\[[^\\]\\n]*\\] [?|&]*=[^=])`).test(plain)
      if (isChanged) bad.push(`${path}: ${name} is changed`)
      if (made !== undefined && !/ (Map|Set|RegExp|BlockList)$/.test(made)) bad.push(`${path}: ${name} is an instance`)
    }
    if (/Object\.assign\((?!\{|new\b)/.test(plain)) bad.push(`${path}: Object.assign changes something`)
  }
  none(bad)
})

test('dialect headers stay in edge', () => {
  const bad = core.filter(({ folder, text }) => folder !== 'edge' && /['"`]x-(amz|svc)-/.test(text))
  none(bad.map(({ path }) => path))
})

/** A name exported twice would have two meanings, and every import of it would have to be looked up. */
const EXPORTED =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm

test('names: an exported name has one meaning', () => {
  for (const part of [code, pages]) {
    const places = new Map<string, string[]>()
    for (const { path, text } of part.filter(source => !source.path.endsWith('.test.ts'))) {
      for (const name of new Set([...text.matchAll(EXPORTED)].map(match => match[1]!))) {
        places.set(name, [...(places.get(name) ?? []), path])
      }
    }
    none([...places].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(', ')}`))
  }
})

test('names: an exported name is used somewhere', () => {
  const uses = new Map<string, number>()
  for (const { text } of everything) {
    for (const [word] of withoutComments(text).matchAll(/\w+/g)) uses.set(word, (uses.get(word) ?? 0) + 1)
  }
  const namespaces = new Set(
    code.flatMap(source => [...source.text.matchAll(/\* as \w+ from '.*\/(.*)'/g)].map(m => m[1])),
  )
  const bad: string[] = []
  for (const { path, text } of [...core, ...pages].filter(source => !namespaces.has(basename(source.path)))) {
    for (const [, name] of text.matchAll(EXPORTED)) if (uses.get(name!) === 1) bad.push(`${path}: ${name}`)
  }
  none(bad)
})

test('comments: plain statements that do not begin with What or Who', () => {
  const question = /(?:\/\*\*|\/\/|^ \*)\s+(?:[RGDPA]\d+[^.\n]*\. )?(?:What|Whatever|Who|Whoever|Whose)\b/gm
  none(everything.flatMap(({ path, text }) => [...text.matchAll(question)].map(([found]) => `${path}: ${found}`)))
})

test('budgets: lines of a file, of a function, characters of a line', () => {
  const bad: string[] = []
  for (const { path, text, isTest } of everything) {
    const lines = text.split('\n')
    const isGenerated = text.startsWith('/** Generated ')
    if (lines.length > LINES_MAX && !isGenerated) bad.push(`${path}: ${lines.length} lines`)
    for (const [index, line] of lines.entries()) {
      if (line.length > LINE_CHARACTERS_MAX) bad.push(`${path}:${index + 1}: ${line.length} characters`)
    }
    // A test's steps are read from top to bottom, however many there are.
    if (!isTest) bad.push(...longFunctions(path, lines))
  }
  none(bad)
})

/** The formatter closes a function or method at the indentation that opened it. */
function longFunctions(path: string, lines: readonly string[]): string[] {
  const bad: string[] = []
  for (const [start, line] of lines.entries()) {
    const opened = /^(\s*)(export )?(default )?(async )?(function\b|(static )?(async )?\*?#?\w+\(.*\{$)/.exec(line)
    if (opened === null || /^\s*(if|for|while|switch|return|await|test|else)\b/.test(line)) continue
    const indent = opened[1]!
    // A method of an object is followed by a comma.
    const length = lines.slice(start + 1).findIndex(end => end === `${indent}}` || end === `${indent}},`)
    if (length > FUNCTION_LINES_MAX) bad.push(`${path}:${start + 1}: a function of ${length} lines`)
  }
  return bad
}

test('no unfinished code, and no file names without meaning', () => {
  const bad: string[] = []
  const unfinished = new RegExp(['TO', 'DO|FIX', 'ME|X', 'XX|@ts-ig', 'nore|\\bas any\\b'].join(''))
  for (const { path, text } of everything) {
    if (unfinished.test(text)) bad.push(`${path}: looks unfinished`)
    if (/\b(utils?|helpers?|manager|service)\.tsx?$/.test(path)) bad.push(`${path}: a name that says nothing`)
  }
  none(bad)
})
