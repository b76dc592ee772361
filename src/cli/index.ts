/** The table of commands. */
import { SERVE_FLAGS } from '../server/config.ts'
import type { Command } from './command.ts'
import { accountCommands } from './commands/accounts.ts'
import { backupCommands } from './commands/backup.ts'
import { blobsCommands } from './commands/blobs.ts'
import { bucketCommands } from './commands/buckets.ts'
import { checkCommands } from './commands/checks.ts'
import { clusterCommands } from './commands/cluster.ts'
import { doctorCommand } from './commands/doctor.ts'
import { encryptionCommands } from './commands/encryption.ts'
import { healthCommand } from './commands/health.ts'
import { importCommand } from './commands/import.ts'
import { keyCommands } from './commands/keys.ts'
import { lockCommands } from './commands/locks.ts'
import { metaCommands } from './commands/meta.ts'
import { policyCommands } from './commands/policies.ts'
import { rebuildCommand } from './commands/rebuild.ts'
import { usageCommands } from './commands/usage.ts'
import { userCommands } from './commands/users.ts'

/** Declared for help and completion only; the main program runs the server itself. */
const serveCommand: Command = {
  name: 'serve',
  summary: 'run the server',
  arguments: [],
  flags: SERVE_FLAGS,
  examples: ['serve', 'serve --data /srv/holdfast --listen 0.0.0.0:9000 --base-host s3.example.com'],
  run: async () => ({ value: {}, text: '' }),
}

export const COMMANDS: readonly Command[] = [
  serveCommand,
  ...accountCommands,
  ...userCommands,
  ...keyCommands,
  ...bucketCommands,
  ...usageCommands,
  ...policyCommands,
  ...lockCommands,
  ...encryptionCommands,
  ...clusterCommands,
  importCommand,
  ...blobsCommands,
  ...metaCommands,
  ...checkCommands,
  ...backupCommands,
  rebuildCommand,
  doctorCommand,
  healthCommand,
]
