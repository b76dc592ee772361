/** Retention of a version: until when it must be kept, and whether somebody may set that aside (section 6). */
import { BadXml, childText, childWord, onlyChildren, rootNamed, type XmlNode } from '../lib/xml.ts'
import type { XmlWriter } from '../lib/xml-writer.ts'
import type { LockMode } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { Lock } from '../model/version.ts'
import { TOLD_BY_RETENTION, toldByRetention } from '../rules/access/told.ts'
import { formatTimestamp, parseTimestamp } from '../rules/http-date.ts'
import { checkSaid } from './integrity.ts'
import { needLocks } from './locks.ts'
import { notOnMarker } from './on-marker.ts'
import { needs, operation } from './operation.ts'
import { wantsBypass } from './removal.ts'
import { readXml, wholeBody } from './whole-body.ts'

const MODES: Readonly<Record<'GOVERNANCE' | 'COMPLIANCE', LockMode>> = {
  GOVERNANCE: 'governance',
  COMPLIANCE: 'compliance',
}

/** An empty document lifts the retention; half of one means nothing. */
function readRetention(root: XmlNode): Lock['retention'] {
  onlyChildren(rootNamed(root, 'Retention'), 'Mode', 'RetainUntilDate')
  const mode = childWord(root, 'Mode', ['GOVERNANCE', 'COMPLIANCE'] as const)
  const date = childText(root, 'RetainUntilDate')
  if (mode === undefined && date === undefined) return undefined
  const until = date === undefined ? undefined : parseTimestamp(date)
  if (mode === undefined || until === undefined) throw new BadXml('mode and date come together')
  return { mode: MODES[mode], until }
}

export const PutObjectRetention = operation({
  name: 'PutObjectRetention',
  match: { method: 'PUT', on: 'object', needs: ['?retention'] },
  permission: needs('PutObjectRetention'),
  tells: TOLD_BY_RETENTION,
  input: {},
  async run(ctx) {
    checkSaid(ctx)
    needLocks(ctx)
    const asksBypass = wantsBypass(ctx)
    await notOnMarker(() => ctx.store.objects.head(ctx.target))
    const retention = readXml(await wholeBody(ctx, { proof: 'checksum' }), readRetention)
    const told = toldByRetention(retention, ctx.store.engine.clock.now())
    await ctx.settle(told)
    const bypass = asksBypass && (await ctx.may('BypassGovernanceRetention', ctx.target, told))
    await notOnMarker(() => ctx.store.objects.setRetention(ctx.target, retention, { bypass }))
    return {}
  },
})

export const GetObjectRetention = operation({
  name: 'GetObjectRetention',
  match: { method: 'GET', on: 'object', needs: ['?retention'] },
  permission: needs('GetObjectRetention'),
  input: {},
  async run(ctx) {
    needLocks(ctx)
    const { retention } = (await ctx.store.objects.head(ctx.target)).lock
    if (retention === undefined) throw new Fault('NoSuchObjectLockConfiguration')
    return {
      body: {
        root: 'Retention',
        write(to: XmlWriter) {
          to.leaf('Mode', retention.mode.toUpperCase())
          to.leaf('RetainUntilDate', formatTimestamp(retention.until))
        },
      },
    }
  },
})
