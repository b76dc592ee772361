/** Every command. A new one is a new file and a word here. */
import { FLAGS } from '../server/config.ts'
import { type Command, command } from './command.ts'
import { accountCommands } from './commands/accounts.ts'
import { backupCommands } from './commands/backup.ts'
import { bucketCommands } from './commands/buckets.ts'
import { checkCommands } from './commands/checks.ts'
import { doctorCommand } from './commands/doctor.ts'
import { encryptionCommands } from './commands/encryption.ts'
import { healthCommand } from './commands/health.ts'
import { importCommand } from './commands/import.ts'
import { keyCommands } from './commands/keys.ts'
import { lockCommands } from './commands/locks.ts'
import { policyCommands } from './commands/policies.ts'
import { rebuildCommand } from './commands/rebuild.ts'
import { usageCommands } from './commands/usage.ts'
import { userCommands } from './commands/users.ts'

/** Listed, completed and explained like the others; the program itself runs it. */
const serveCommand = command({
  name: 'serve',
  summary: 'serve until told to stop',
  examples: ['serve', 'serve --data /srv/holdfast --listen 0.0.0.0:9000 --base-host s3.example.com'],
  flags: Object.entries(FLAGS).map(([name, { value, meaning }]) =>
    value === '' ? { name, meaning } : { name, value, meaning },
  ),
  run: async () => ({ value: {}, text: '' }),
})

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
  importCommand,
  ...checkCommands,
  ...backupCommands,
  rebuildCommand,
  doctorCommand,
  healthCommand,
]
