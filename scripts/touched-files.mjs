/**
 * `node scripts/touched-files.mjs [ROOT]`: counts and lists the files of src/ whose code runs for one small signed GET and
 * PUT on a warm server. ROOT is a built checkout, this one by default. A reader who follows a request opens these
 * files, so the count measures how many files the path of a request spans.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'

const SELF = fileURLToPath(import.meta.url)
const WARM_REQUESTS = 20
/** Background work runs occasionally; the path of a request is the code that every one of so many requests runs. */
const MEASURED_REQUESTS = 30

/** Loaded into the server before everything else: reports the files whose functions ran since the last query. */
async function reportCoverage() {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  process.on('message', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0].count > 0))
    process.send(ran.map(({ url }) => url))
  })
  process.channel.unref()
}

async function startServer(root, folder, keys) {
  const main = join(root, 'dist', 'src', 'main.js')
  const flags = ['--data', folder, '--listen', '127.0.0.1:0', '--console', 'off', '--buckets', 'bench']
  const server = spawn(
    process.execPath,
    ['--import', pathToFileURL(SELF).href, main, 'serve', ...flags, '--workers', '1'],
    {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      env: {
        ...process.env,
        TOUCHED_FILES_SERVER: '1',
        HOLDFAST_ROOT_ACCESS_KEY: keys.accessKey,
        HOLDFAST_ROOT_SECRET_KEY: keys.secretKey,
      },
    },
  )
  for await (const line of createInterface(server.stdout)) {
    const ready = /^holdfast ready http:\/\/127\.0\.0\.1:(\d+)/.exec(line)
    if (ready !== null) return { server, port: Number(ready[1]) }
  }
  throw new Error('the server ended before it was ready')
}

async function measure(root) {
  const { KEYS, signedRequest } = await import(pathToFileURL(join(root, 'dist', 'bench', 'http', 'signed.js')).href)
  const folder = mkdtempSync(join(tmpdir(), 'touched-files-'))
  const { server, port } = await startServer(root, folder, KEYS)
  server.stdout.resume()
  const socket = connect(port, '127.0.0.1')
  const send = async asked => {
    socket.write(signedRequest(`127.0.0.1:${port}`, asked))
    await once(socket, 'data')
  }
  const taken = async () => {
    server.send('take')
    const [urls] = await once(server, 'message')
    const prefix = `${pathToFileURL(join(root, 'dist', 'src')).href}/`
    return new Set(urls.filter(url => url.startsWith(prefix)).map(url => url.slice(prefix.length)))
  }
  const files = async asked => {
    for (let at = 0; at < WARM_REQUESTS; at++) await send(asked)
    let always
    for (let at = 0; at < MEASURED_REQUESTS; at++) {
      await new Promise(resolve => setTimeout(resolve, 50))
      await taken()
      await send(asked)
      // The log line and the access record are written after the response.
      await new Promise(resolve => setTimeout(resolve, 50))
      const ran = await taken()
      always = always === undefined ? ran : new Set([...always].filter(file => ran.has(file)))
    }
    return [...always].sort()
  }
  const body = Buffer.alloc(1024, 'x')
  const put = await files({ method: 'PUT', path: '/bench/key', body })
  const get = await files({ method: 'GET', path: '/bench/key' })
  socket.destroy()
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(folder, { recursive: true })
  return { get, put }
}

if (process.env.TOUCHED_FILES_SERVER === '1') await reportCoverage()
else {
  const { get, put } = await measure(resolve(process.argv[2] ?? join(SELF, '..', '..')))
  for (const [name, files] of Object.entries({ GET: get, PUT: put })) {
    process.stdout.write(`${name}: ${files.length} files\n${files.map(file => `  ${file}\n`).join('')}`)
  }
}
