import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'
import type { Attributes, Version } from '../../model/version.ts'
import { checksumAlgorithm } from '../../rules/checksum.ts'
import { quotedEtag } from '../../rules/conditional-requests.ts'
import { formatTimestamp } from '../../rules/http-date.ts'
import { encryptionInfo } from '../../store/keys/content-keys.ts'
import type { OperationContext } from '../context.ts'
import { directive, refuseBody, writeChecksum } from '../multipart/uploads.ts'
import { maybe, operation, writePrecondition } from '../operation.ts'
import {
  checkLock,
  newObjectInputs,
  newObjectPermissions,
  newVersionHeaders,
  ownerAndGrants,
  tagSet,
} from './attributes.ts'
import {
  checkSource,
  checkSourceSize,
  copySource,
  enterSource,
  readingSource,
  sourceConditions,
  sourceHeaders,
  sourcePermissions,
} from './copy-source.ts'
import { contextHeader, effectiveEncryption, encryptionHeaders, sourceCustomerKey } from './encryption.ts'

const inputs = {
  ...newObjectInputs,
  source: copySource,
  sourceKey: sourceCustomerKey,
  conditions: sourceConditions,
  metadataDirective: directive('metadata-directive', 'InvalidArgument'),
  taggingDirective: directive('tagging-directive', 'InvalidArgument'),
  algorithm: maybe.header(':checksum-algorithm', checksumAlgorithm),
  precondition: writePrecondition,
}

type CopyInput = { readonly [K in keyof typeof inputs]: ReturnType<(typeof inputs)[K]['decode']> }

/** R48. A copy of an object onto itself must change something. */
function checkNotInPlace(ctx: OperationContext, input: CopyInput): void {
  const { source } = input
  const isSame = source.bucket === ctx.target.bucket && source.key === ctx.target.key && source.versionId === undefined
  const changes =
    input.metadataDirective === 'REPLACE' ||
    input.taggingDirective === 'REPLACE' ||
    ctx.request.header(':storage-class') !== undefined ||
    input.redirect !== undefined ||
    input.requestedEncryption !== undefined ||
    input.algorithm !== undefined
  if (!isSame || changes) return
  const reason =
    'This copy request is illegal because it is trying to copy an object to itself without changing the ' +
    "object's metadata, storage class, website redirect location or encryption attributes."
  throw new Fault('InvalidRequest', { reason })
}

/** R45–R47. Which attributes of the copy come from the source, and which from the request. */
function attributesFor(
  ctx: OperationContext,
  input: CopyInput,
  grants: Attributes['grants'],
): (source: Version) => Attributes {
  const { redirect, storageClass, headers, metadata } = input
  const tags = input.taggingDirective === 'REPLACE' ? tagSet.decode(ctx.request) : undefined
  return ({ attributes }) => ({
    ...(input.metadataDirective === 'REPLACE'
      ? { headers, metadata }
      : { headers: attributes.headers, metadata: attributes.metadata }),
    tags: tags ?? attributes.tags,
    grants,
    redirect,
    storageClass,
  })
}

export const CopyObject = operation({
  name: 'CopyObject',
  match: { method: 'PUT', on: 'object', requires: [':copy-source'] },
  permission: request => [...sourcePermissions(request), ...newObjectPermissions(request)],
  anonymousNeedsPolicy: true,
  createsObject: true,
  storesTagsAndLock: true,
  foldsFaults: true,
  input: inputs,
  async run(ctx, input) {
    await refuseBody(ctx)
    const { source: from, sourceKey, lock } = input
    const sourceBucket = await enterSource(ctx, from)
    const { owner, grants } = ownerAndGrants(ctx, ctx.behavior.execReadEverywhere)
    checkLock(ctx, lock)
    checkNotInPlace(ctx, input)
    const attributes = attributesFor(ctx, input, grants)
    const encryption = await effectiveEncryption(ctx, input.requestedEncryption)
    const { bucket, key } = ctx.target
    const copied = await readingSource(() =>
      ctx.store.copies.copy({
        from,
        to: { bucket, key },
        owner,
        attributes,
        // P27. The lock comes from the request, never from the source.
        lock,
        // R50. The commit evaluates the conditions on the target.
        precondition: input.precondition,
        check(source) {
          checkSource(input.conditions, sourceKey !== undefined, source)
          checkSourceSize(ctx, source.size)
        },
        beforeRead(source) {
          const sealed = { encryption: encryption === undefined ? undefined : encryptionInfo(encryption) }
          ctx.allowEarlyResponse([
            ...encryptionHeaders(sealed),
            contextHeader(sealed),
            ...sourceHeaders(sourceBucket, source),
          ])
        },
        ...(sourceKey === undefined ? {} : { customerKey: sourceKey.key }),
        ...(encryption === undefined ? {} : { encryption }),
        ...(input.algorithm === undefined ? {} : { algorithm: input.algorithm }),
      }),
    )
    // R59. ETag, date and checksum of the copy; headers name both versions.
    const { version } = copied
    return {
      headers: [...(await newVersionHeaders(ctx, version)), ...sourceHeaders(sourceBucket, copied.source)],
      body: {
        root: 'CopyObjectResult',
        write(to: XmlWriter) {
          to.leaf('ETag', quotedEtag(version.etag))
          to.leaf('LastModified', formatTimestamp(version.modifiedAt))
          writeChecksum(to, version.checksum)
        },
      },
    }
  },
})
