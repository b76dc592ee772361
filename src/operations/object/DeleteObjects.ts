import {
  BadXml,
  childFlag,
  children,
  childText,
  onlyChildren,
  requiredText,
  rootNamed,
  type XmlNode,
} from '../../lib/xml.ts'
import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault, faultOf } from '../../model/faults.ts'
import { bareEtag } from '../../rules/conditional-requests.ts'
import { LIMITS } from '../../rules/limits.ts'
import type { RemovalResult } from '../../store/objects/objects.ts'
import type { OperationContext } from '../context.ts'
import { operation } from '../operation.ts'
import { readXml, wholeBody } from '../whole-body.ts'
import { ifModifiedAt, ifSize, removeOne, wantsBypass } from './removal.ts'

const BYTES_MAX = 2 * 2 ** 20
/** Concurrent commits share a sync; one after another, a thousand keys would need a thousand. */
const AT_ONCE = 32

interface Wanted {
  readonly key: string
  readonly versionId: string | undefined
  readonly etag: string | undefined
  readonly ifModifiedAt: number | undefined
  readonly ifSize: number | undefined
}

interface Batch {
  readonly wanted: readonly Wanted[]
  readonly quiet: boolean
}

type Outcome = { readonly removed: RemovalResult } | { readonly fault: Fault }

function readBatch(root: XmlNode): Batch {
  onlyChildren(rootNamed(root, 'Delete'), 'Object', 'Quiet')
  const wanted = children(root, 'Object').map((object): Wanted => {
    onlyChildren(object, 'Key', 'VersionId', 'ETag', 'LastModifiedTime', 'Size')
    const [time, size] = [childText(object, 'LastModifiedTime'), childText(object, 'Size')]
    return {
      key: requiredText(object, 'Key'),
      versionId: childText(object, 'VersionId'),
      etag: childText(object, 'ETag'),
      ifModifiedAt: time === undefined ? undefined : ifModifiedAt(time, 'LastModifiedTime'),
      ifSize: size === undefined ? undefined : ifSize(size, 'Size'),
    }
  })
  if (wanted.length === 0 || wanted.length > LIMITS.listKeysMax) throw new BadXml('too many keys, or none')
  return { wanted, quiet: childFlag(root, 'Quiet') ?? false }
}

/** P3. Each key is independent: its own permission, its own lock, its own result. */
async function remove(ctx: OperationContext, wanted: Wanted, asksBypass: boolean): Promise<Outcome> {
  const name = { bucket: ctx.target.bucket, key: wanted.key, versionId: wanted.versionId }
  try {
    const action = wanted.versionId === undefined ? 'DeleteObject' : 'DeleteObjectVersion'
    if (!(await ctx.isAllowed(action, name))) throw new Fault('AccessDenied')
    const bypass = asksBypass && (await ctx.isAllowed('BypassGovernanceRetention', name))
    const ifMatch = wanted.etag === undefined ? undefined : [bareEtag(wanted.etag)]
    const { ifModifiedAt, ifSize } = wanted
    const precondition = { ifMatch, ifNoneMatch: undefined, ifModifiedAt, ifSize }
    return { removed: await removeOne(ctx, { name, precondition, bypass }) }
  } catch (error) {
    const fault = faultOf(error)
    if (fault === undefined) throw error
    const isForeignId = fault.code === 'InvalidArgument' && fault.detail.ArgumentName === 'versionId'
    // In a batch, S3 finds no version by an id that it cannot have assigned; only a single delete calls it invalid.
    return { fault: isForeignId ? new Fault('NoSuchVersion') : fault }
  }
}

async function removeAll(ctx: OperationContext, wanted: readonly Wanted[], asksBypass: boolean): Promise<Outcome[]> {
  if (wanted.length === 1) return [await remove(ctx, wanted[0]!, asksBypass)]
  const outcomes: Outcome[] = []
  let next = 0
  const run = async (): Promise<void> => {
    for (let index = next++; index < wanted.length; index = next++) {
      outcomes[index] = await remove(ctx, wanted[index]!, asksBypass)
    }
  }
  const runs = await Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, wanted.length) }, run))
  for (const one of runs) if (one.status === 'rejected') throw one.reason
  return outcomes
}

function writeDeleted(to: XmlWriter, { key, versionId }: Wanted, { marker, removed }: RemovalResult): void {
  to.open('Deleted')
  to.leaf('Key', key)
  to.leaf('VersionId', versionId)
  const hidden = marker ?? (removed?.marker === true ? removed : undefined)
  if (hidden !== undefined) {
    to.leaf('DeleteMarker', true)
    to.leaf('DeleteMarkerVersionId', hidden.id)
  }
  to.close()
}

function writeFailed(
  to: XmlWriter,
  { key, versionId }: Wanted,
  described: ReturnType<OperationContext['describeFault']>,
): void {
  to.open('Error')
  to.leaf('Key', key)
  to.leaf('VersionId', versionId)
  to.leaf('Code', described.code)
  to.leaf('Message', described.message)
  to.close()
}

export const DeleteObjects = operation({
  name: 'DeleteObjects',
  match: { method: 'POST', on: 'bucket', requires: ['?delete'] },
  // The body names the objects; `run` authorizes each of them.
  permission: () => [],
  input: {},
  async run(ctx) {
    const asksBypass = wantsBypass(ctx)
    if ((ctx.body.length ?? 0) > BYTES_MAX) throw new Fault('MalformedXML')
    const body = await wholeBody(ctx, { proof: 'checksum', bytesMax: BYTES_MAX })
    const { wanted, quiet } = readXml(body, readBatch)
    const outcomes = await removeAll(ctx, wanted, asksBypass)
    return {
      body: {
        root: 'DeleteResult',
        write(to: XmlWriter) {
          for (const [index, outcome] of outcomes.entries()) {
            if ('fault' in outcome) writeFailed(to, wanted[index]!, ctx.describeFault(outcome.fault))
            else if (!quiet) writeDeleted(to, wanted[index]!, outcome.removed)
          }
        },
      },
    }
  },
})
