import { statSync } from 'node:fs'
import { CommandFailed } from './failures.ts'

const ABSENT = ['ENOENT', 'ENOTDIR']

/** An unreadable path is not reported as absent, which would invite the user to create a second store. */
export function pathExists(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (ABSENT.includes(code)) return false
    const advice = code === 'EACCES' || code === 'EPERM' ? ': run this as the owner of the data folder' : ''
    throw new CommandFailed(`${path} cannot be read (${code})${advice}`)
  }
}
