/** Routes of backups that the server takes itself, into a folder that its operator has permitted. */
import { BACKUP_NAME } from '../../backup/server-backup.ts'
import { body, textField } from '../input.ts'
import { route } from '../route.ts'
import { COUNT, listOf, objectOf, oneOfWords, TEXT, TIME } from '../schemas.ts'

const SERVER_BACKUP = {
  state: oneOfWords('never', 'running', 'done', 'stopped', 'failed'),
  'name?': TEXT,
  'startedAt?': TIME,
  'endedAt?': TIME,
  'takenAt?': { ...TIME, description: 'The time of the snapshot' },
  'phase?': oneOfWords('records', 'blobs'),
  writtenBytes: { ...COUNT, description: 'Without blobs that were in the folder already' },
  'run?': { ...TEXT, description: 'The run that was made' },
  'blobs?': objectOf({ count: COUNT, bytes: COUNT, copied: COUNT, copiedBytes: COUNT }),
  'damaged?': { ...COUNT, description: 'Blobs that the store could not read' },
  'error?': TEXT,
} as const

const name = {
  schema: { type: 'string', pattern: BACKUP_NAME.source },
  read: textField.read,
}

export const GetServerBackup = route({
  name: 'GetServerBackup',
  method: 'GET',
  path: '/v1/server-backup',
  summary: 'Get the last backup that the server took itself, and the backups in its folder',
  permission: 'admin',
  answer: objectOf({
    ...SERVER_BACKUP,
    'folder?': { ...TEXT, description: 'Of --backup-folder; absent when the server takes no backups' },
    backups: listOf(objectOf({ name: TEXT, runs: COUNT, newestAt: TIME })),
  }),
  input: {},
  run: async ({ serverBackups: { state, place } }) => ({
    ...state,
    ...(place && { folder: place.folder }),
    backups: (await place?.list()) ?? [],
  }),
})

export const StartServerBackup = route({
  name: 'StartServerBackup',
  method: 'POST',
  path: '/v1/server-backup',
  summary: 'Take a backup into a folder on the server, incrementally if there is one of this name; one at a time',
  permission: 'admin',
  answer: objectOf(SERVER_BACKUP),
  status: 202,
  input: { name: body(name, 'A folder below --backup-folder') },
  run: async (ctx, input) => ctx.serverBackups.start(input.name),
})

export const StopServerBackup = route({
  name: 'StopServerBackup',
  method: 'DELETE',
  path: '/v1/server-backup',
  summary: 'Stop the backup that the server takes; the next one of the same name continues it',
  permission: 'admin',
  answer: objectOf(SERVER_BACKUP),
  input: {},
  run: async ctx => ctx.serverBackups.stop(),
})
