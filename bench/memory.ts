/** How much memory one very large object takes, in a process that does nothing else. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { aloneRow, type Row } from './measure.ts'
import type { Scene } from './scene.ts'

const CHILD = join(import.meta.dirname, 'memory-child.js')

export async function memory(scene: Scene): Promise<Row[]> {
  const sizeMiB = scene.quick ? 512 : 5 * 1024
  const peakBytes = Number(await outputOf([CHILD, scene.newFolder('memory'), String(sizeMiB)]))
  if (!(peakBytes > 0)) throw new Error('the child process did not say how much memory it used')
  await scene.clear()
  return [aloneRow('memory-5g', 'MB', peakBytes / 1e6)]
}

function outputOf(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...process.execArgv, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', chunk => {
      text += chunk
    })
    child.on('error', reject)
    child.on('close', code => (code === 0 ? resolve(text) : reject(new Error(`the child process ended with ${code}`))))
  })
}
