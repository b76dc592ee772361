/** moto, installed into a temporary folder. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fromPip, pipVersion } from '../clients/install.ts'
import { ending, type Running } from './other-server.ts'

const READY_MS_MAX = 60_000

/** An installed moto, by the folder of its programs, or a new installation; `Unavailable` where that fails. */
export async function startMoto(folder: string, installed?: string): Promise<Running> {
  const bin = installed ?? (await fromPip(folder, 'moto'))
  const version = await pipVersion(bin, 'moto')
  const { PATH = '' } = process.env
  const child = spawn(join(bin, 'moto_server'), ['-H', '127.0.0.1', '-p', '0'], {
    env: { PATH, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const stop = ending(child)
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('moto was not ready in time')), READY_MS_MAX)
    child.once('exit', () => reject(new Error('moto ended at once')))
    createInterface(child.stderr).on('line', line => {
      const found = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    })
  })
  return { url, version, stop }
}
