/** Documents with a record of their own. */
import type { XmlNode } from '../../lib/xml.ts'
import { parseXml } from '../../lib/xml-reader.ts'
import type { XmlDocument } from '../../lib/xml-writer.ts'
import type { Pairs } from '../../model/version.ts'
import { CORS_BYTES_MAX, readCors } from '../../rules/documents/cors.ts'
import {
  type BucketEncryption,
  encryptionDocument,
  readBucketEncryption,
  readNewBucketEncryption,
} from '../../rules/documents/encryption.ts'
import { documentFromTree, documentText } from '../../rules/documents/tree.ts'
import { readWebsite } from '../../rules/documents/website.ts'
import { readTagDocument, tagDocument } from '../../rules/tags.ts'
import type { OperationContext } from '../context.ts'
import { type DocumentKind, keptAsSent, storedAs } from './document.ts'

export const cors: DocumentKind<XmlNode> = {
  query: 'cors',
  get: { name: 'GetBucketCors', needs: 'GetBucketCORS' },
  put: { name: 'PutBucketCors', needs: 'PutBucketCORS', bytesMax: CORS_BYTES_MAX },
  remove: { name: 'DeleteBucketCors', needs: 'PutBucketCORS' },
  absent: 'NoSuchCORSConfiguration',
  ...keptAsSent('cors', readCors),
}

export const website: DocumentKind<XmlNode> = {
  query: 'website',
  get: { name: 'GetBucketWebsite', needs: 'GetBucketWebsite' },
  put: { name: 'PutBucketWebsite', needs: 'PutBucketWebsite' },
  remove: { name: 'DeleteBucketWebsite', needs: 'DeleteBucketWebsite' },
  absent: 'NoSuchWebsiteConfiguration',
  ...keptAsSent('website', readWebsite),
}

const encryptionText = storedAs('encryption')

export const encryption: DocumentKind<BucketEncryption> = {
  query: 'encryption',
  get: { name: 'GetBucketEncryption', needs: 'GetEncryptionConfiguration' },
  put: { name: 'PutBucketEncryption', needs: 'PutEncryptionConfiguration' },
  remove: { name: 'DeleteBucketEncryption', needs: 'PutEncryptionConfiguration' },
  absent: 'ServerSideEncryptionConfigurationNotFoundError',
  async show(ctx) {
    const text = await encryptionText.text(ctx)
    if (text === undefined) return undefined
    return encryptionDocument(readBucketEncryption(parseXml(text)), ctx.behavior.encryptionNames)
  },
  read: readNewBucketEncryption,
  keep: (ctx, document) => encryptionText.put(ctx, documentText(encryptionDocument(document))),
  drop: encryptionText.remove,
}

const tagText = storedAs('tagging')

async function shownTags(ctx: OperationContext): Promise<XmlDocument | undefined> {
  const text = await tagText.text(ctx)
  return text === undefined ? undefined : documentFromTree(parseXml(text))
}

export const tagging: DocumentKind<Pairs> = {
  query: 'tagging',
  get: { name: 'GetBucketTagging', needs: 'GetBucketTagging' },
  put: { name: 'PutBucketTagging', needs: 'PutBucketTagging', status: ctx => ctx.behavior.bucketTaggingStatus },
  remove: { name: 'DeleteBucketTagging', needs: 'PutBucketTagging' },
  absent: 'NoSuchTagSet',
  show: shownTags,
  read: root => readTagDocument(root, 'bucket'),
  // An empty set of tags equals none.
  keep: (ctx, tags) => (tags.length === 0 ? tagText.remove(ctx) : tagText.put(ctx, documentText(tagDocument(tags)))),
  drop: tagText.remove,
}
