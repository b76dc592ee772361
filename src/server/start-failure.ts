/** Explains a failed start and what to do about it, with the system's error code. */
import type { ListenError } from '../http/listen.ts'
import type { Config } from './config.ts'

/** The flag of the address that failed. */
function flagOf({ host, port }: ListenError, { console }: Config): string {
  return console?.host === host && console.port === port ? '--console' : '--listen'
}

function ofAddress(error: ListenError, config: Config): string | undefined {
  const { host, port } = error
  const flag = flagOf(error, config)
  switch (error.code) {
    case 'EADDRINUSE':
      return `${host}:${port} is in use by another program; choose another address with ${flag}`
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this machine; choose another with ${flag}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host name ${host} cannot be resolved; choose another address with ${flag}`
    case 'EACCES':
      return `this user may not listen on port ${port}; choose one above 1023 with ${flag}`
    default:
      return undefined
  }
}

function ofFolder({ code, path, syscall }: NodeJS.ErrnoException): string | undefined {
  switch (code) {
    case 'ENOENT':
      return syscall === 'mkdir' ? `the folder ${path} cannot be created; choose another with --data` : undefined
    case 'EACCES':
    case 'EPERM':
      return `this user may not write ${path}; give it the folder, or choose another with --data`
    case 'EROFS':
      return `${path} is on a read-only filesystem; choose another folder with --data`
    case 'EEXIST':
    case 'ENOTDIR':
      return `${path} is not a folder, or its parent is not; choose another with --data`
    case 'ENOSPC':
    case 'EDQUOT':
      return `there is no space left for ${path ?? 'the data folder'}`
    default:
      return undefined
  }
}

export function startFailure(error: unknown, config: Config): string {
  if (!(error instanceof Error)) return String(error)
  const { code }: NodeJS.ErrnoException = error
  const isAddress = 'host' in error && 'port' in error
  const plain = isAddress ? ofAddress(error as ListenError, config) : ofFolder(error)
  return plain === undefined ? error.message : `${plain} (${code})`
}
