/** Starts a server for the program: a failure becomes one line that names the problem, and an exit code. */
import { BadConfig, type Config } from './config.ts'
import type { Logger } from './log.ts'
import type { RunningServer } from './rejoining-server.ts'
import { serve } from './serve.ts'
import { startFailure } from './start-failure.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2

export async function startServer(config: Config, log: Logger): Promise<RunningServer> {
  try {
    return await serve(config, log)
  } catch (error) {
    throw error instanceof BadConfig ? error : new Error(startFailure(error, config), { cause: error })
  }
}

export function exitOf(error: unknown): { readonly code: number; readonly line: string } {
  const message = error instanceof Error ? error.message : String(error)
  return { code: error instanceof BadConfig ? EXIT_USAGE : EXIT_FAILED, line: `holdfast: ${message}\n` }
}
