/** Run by Bun: puts the built program, the runtime and the native parts of this platform into one file. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const ROOT = dirname(dirname(import.meta.dir))
const outfile = process.argv[2]
const copies = join(ROOT, 'dist', 'native')

/** The metadata engine brings a binary for each C library; Linux has two of them. */
function engineBinary() {
  const libc = process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
  const tag = process.platform === 'linux' ? `.${libc}` : ''
  return `@lmdb/lmdb-${process.platform}-${process.arch}/node.napi${tag}.node`
}

/** Packages look for their binaries at run time; here that is decided once. */
const nativeParts = {
  name: 'native parts',
  setup(build) {
    build.onLoad({ filter: /lmdb[\\/]native\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const contents = text.replace('loadNAPI(dirName)', `require('${engineBinary()}')`)
      if (contents === text) throw new Error(`${path} does not look for its binary in the way it used to`)
      return { contents, loader: 'js' }
    })
    // A faster decoder for an encoding that is not used here. It would look for its binary where it was built.
    build.onResolve({ filter: /^msgpackr-extract$/ }, ({ path }) => ({ path, namespace: 'absent' }))
    build.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: 'module.exports = undefined',
      loader: 'js',
    }))

    // Bun would unpack them by itself, to a file with a known name that it trusts when its size is right.
    build.onLoad({ filter: /\.node$/ }, ({ path }) => {
      const bytes = readFileSync(path)
      const digest = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
      const name = `${basename(path, '.node')}-${digest.slice(0, 16)}.node`
      // Under a name that says nothing to the bundler, so that it comes along as it is.
      const folder = join(copies, digest)
      const copy = join(folder, `${name}.bytes`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(copy, bytes)
      const loader = join(ROOT, 'scripts', 'binary', 'native.mjs')
      const contents = `module.exports = require('${loader}').loadNative('${name}', require('${copy}'))`
      return { contents, loader: 'js' }
    })
  },
}

/** The console's files come along as bytes, and the module that would look for them in a folder reads those. */
const consoleParts = {
  name: 'console',
  setup(build) {
    build.onLoad({ filter: /server[\\/]console-files\.js$/ }, ({ path }) => {
      const folder = join(ROOT, 'dist', 'console-pages')
      const names = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
      const rows = names.map(name => {
        const copy = join(copies, 'console', `${name}.bytes`)
        mkdirSync(dirname(copy), { recursive: true })
        writeFileSync(copy, readFileSync(join(folder, name)))
        return `${JSON.stringify(name)}: require(${JSON.stringify(copy)}),`
      })
      const text = readFileSync(path, 'utf8')
      const contents = text
        .replace('readdir(folder, { recursive: true })', 'Object.keys(EMBEDDED)')
        .replace('readFile(join(folder, name))', 'readFile(EMBEDDED[name])')
      if (contents.split('EMBEDDED').length !== 3) {
        throw new Error(`${path} does not look for its files in the way it used to`)
      }
      return { contents: `${contents}\nconst EMBEDDED = {\n${rows.join('\n')}\n}\n`, loader: 'js' }
    })
  },
}

try {
  await Bun.build({
    entrypoints: [join(ROOT, 'dist', 'src', 'main.js')],
    target: 'bun',
    // Settings must not depend on what lies in the folder where the program is started.
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
    plugins: [nativeParts, consoleParts],
  })
} finally {
  rmSync(copies, { recursive: true })
}
