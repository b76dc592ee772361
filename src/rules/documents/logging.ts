/** The logging configuration of a bucket: the target bucket and prefix of its access log. */
import { BadXml, child, onlyChildren, requiredText, rootNamed, type XmlNode } from '../../lib/xml.ts'
import type { XmlDocument } from '../../lib/xml-writer.ts'
import { Fault, notImplemented } from '../../model/faults.ts'
import { LIMITS } from '../limits.ts'

export interface Logging {
  readonly targetBucket: string
  readonly targetPrefix: string
}

/** The length of a log object's name after the prefix: a timestamp and a unique suffix. */
const LOG_NAME_BYTES = 36
const PREFIX_BYTES_MAX = LIMITS.keyBytesMax - LOG_NAME_BYTES

/** Undefined when logging is disabled. */
export function readLogging(root: XmlNode): Logging | undefined {
  onlyChildren(rootNamed(root, 'BucketLoggingStatus'), 'LoggingEnabled')
  const enabled = child(root, 'LoggingEnabled')
  if (enabled === undefined) return undefined
  onlyChildren(enabled, 'TargetBucket', 'TargetPrefix', 'TargetGrants', 'TargetObjectKeyFormat')
  // Per-log ACLs and partitioned prefixes are not supported, and must not seem to be.
  if ((child(enabled, 'TargetGrants')?.children.length ?? 0) > 0) {
    throw notImplemented('element', 'TargetGrants')
  }
  checkKeyFormat(enabled)
  const targetBucket = requiredText(enabled, 'TargetBucket')
  const targetPrefix = requiredText(enabled, 'TargetPrefix')
  if (targetBucket === '') throw new BadXml('TargetBucket is empty')
  if (Buffer.byteLength(targetPrefix) > PREFIX_BYTES_MAX || targetPrefix.includes('\0')) {
    throw new Fault('InvalidArgument', { ArgumentName: 'TargetPrefix', ArgumentValue: targetPrefix.slice(0, 100) })
  }
  return { targetBucket, targetPrefix }
}

function checkKeyFormat(enabled: XmlNode): void {
  const format = child(enabled, 'TargetObjectKeyFormat')
  if (format === undefined) return
  onlyChildren(format, 'SimplePrefix', 'PartitionedPrefix')
  if (format.children.length !== 1) throw new BadXml('TargetObjectKeyFormat must have exactly one format')
  if (child(format, 'PartitionedPrefix') !== undefined) throw notImplemented('element', 'PartitionedPrefix')
}

export const loggingDocument = (logging: Logging | undefined): XmlDocument => ({
  root: 'BucketLoggingStatus',
  write(to) {
    if (logging === undefined) return
    to.open('LoggingEnabled')
    to.leaf('TargetBucket', logging.targetBucket)
    to.leaf('TargetPrefix', logging.targetPrefix)
    to.close()
  },
})
