/** The pages of each bucket, and what can be done in the one that is shown. */
import { type Question, usePermissions } from '../api/permissions.ts'
import { type Session, useSession } from '../api/session.tsx'
import type { Bucket } from '../api/use-buckets.ts'
import { visibleText } from '../format.ts'
import { type Place, toBucketAccess, toFolder, toHolds, toLedger, toRules, toSettings, usePlace } from '../router.tsx'
import { RULE_KINDS } from '../rules/rule-kinds.ts'
import { paletteTexts as t } from '../texts/palette.ts'
import { rulesTexts } from '../texts/rules.ts'
import { chooseFiles } from '../uploads/choose-files.ts'
import { uploadQueue } from '../uploads/upload-queue.ts'
import { type Command, pageCommand } from './command.ts'

export const openBucket = (bucket: string): Command => pageCommand(t.openBucket(bucket), 'bucket', toFolder(bucket))

/** Without the list of its objects. */
export function bucketPages({ name, lockEnabled }: Pick<Bucket, 'name' | 'lockEnabled'>, session: Session): Command[] {
  const hasLedger = session.administrator && lockEnabled === true
  return [
    pageCommand(t.holdsOf(name), 'lock', toHolds(name)),
    pageCommand(t.rulesOf(name), 'clock', toRules(name)),
    pageCommand(t.accessOf(name), 'key', toBucketAccess(name)),
    pageCommand(t.settingsOf(name), 'settings', toSettings(name)),
    ...(hasLedger ? [pageCommand(t.ledgerOf(name), 'ledger', toLedger(name))] : []),
    pageCommand(t.deletedOf(name), 'trash', toFolder(name, '', { deleted: true })),
    ...RULE_KINDS.map(kind => pageCommand(t.ruleOf(rulesTexts.kinds[kind], name), 'clock', toRules(name, kind))),
  ]
}

/** The folder that a page is about: that of a list, or the one that an object is in. */
function folderOf({ segments: [area, bucket, part], query }: Place): { bucket: string; prefix: string } | undefined {
  if (area !== 'buckets' || bucket === undefined) return undefined
  if (part === undefined) return { bucket, prefix: query.get('prefix') ?? '' }
  const key = part === 'object' ? (query.get('key') ?? '') : ''
  return { bucket, prefix: key.slice(0, key.lastIndexOf('/') + 1) }
}

export function useHereCommands(buckets: readonly Bucket[]): Command[] {
  const session = useSession()
  const folder = folderOf(usePlace())
  const { bucket = '', prefix = '' } = folder ?? {}
  const write: Question = { action: 's3:PutObject', bucket, key: `${prefix}file` }
  const asked: Readonly<Record<string, Question>> = folder === undefined ? {} : { write }
  const mayWrite = usePermissions(asked).write?.isRefused !== true
  const known = buckets.find(({ name }) => name === bucket)
  if (known === undefined) return []
  const where = visibleText(`${bucket}/${prefix}`)
  const upload = async (): Promise<void> => {
    const files = await chooseFiles()
    uploadQueue.add(
      { bucket, accessKey: session.accessKey },
      files.map(({ path, file }) => ({ key: prefix + path, file })),
    )
  }
  return [
    ...(mayWrite
      ? [{ id: 'upload', label: t.uploadTo(where), icon: 'upload' as const, run: () => void upload() }]
      : []),
    openBucket(bucket),
    ...bucketPages(known, session),
  ]
}
