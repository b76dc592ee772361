/**
 * For any input, a reader returns a document or throws a fault, and it accepts again every document it accepted once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BadXml, type XmlNode } from '../../lib/xml.ts'
import { parseXml } from '../../lib/xml-reader.ts'
import { Fault } from '../../model/faults.ts'
import { readCors } from './cors.ts'
import { readBucketEncryption } from './encryption.ts'
import { readLifecycle } from './lifecycle.ts'
import {
  readLockConfiguration,
  readOwnership,
  readPublicAccessBlock,
  readRequesterPays,
  readVersioning,
} from './settings.ts'
import { documentFromTree, documentText } from './tree.ts'
import { readWebsite } from './website.ts'

/** The root, the elements allowed below it, and meaningful words. */
const KINDS: readonly (readonly [(root: XmlNode) => unknown, string, string])[] = [
  [
    readCors,
    'CORSConfiguration',
    'CORSRule ID AllowedOrigin AllowedMethod AllowedHeader ExposeHeader MaxAgeSeconds | * GET a*b 5',
  ],
  [
    readLifecycle,
    'LifecycleConfiguration',
    'Rule ID Status Filter Prefix And Tag Key Value Expiration Days Date AbortIncompleteMultipartUpload | ' +
      'Enabled Disabled 1 2030-01-01 2030-01-01T01:00:00Z x',
  ],
  [
    readWebsite,
    'WebsiteConfiguration',
    'IndexDocument Suffix ErrorDocument Key RedirectAllRequestsTo HostName Protocol RoutingRules RoutingRule ' +
      'Redirect | a/b index.html http javascript 301',
  ],
  [
    readBucketEncryption,
    'ServerSideEncryptionConfiguration',
    'Rule ApplyServerSideEncryptionByDefault SSEAlgorithm KMSMasterKeyID BucketKeyEnabled BlockedEncryptionTypes | ' +
      'AES256 aws:kms verenc true false SSE-C',
  ],
  [readVersioning, 'VersioningConfiguration', 'Status MfaDelete | Enabled Suspended Disabled'],
  [readRequesterPays, 'RequestPaymentConfiguration', 'Payer | Requester BucketOwner'],
  [
    readPublicAccessBlock,
    'PublicAccessBlockConfiguration',
    'BlockPublicAcls IgnorePublicAcls BlockPublicPolicy RestrictPublicBuckets | true false maybe',
  ],
  [readOwnership, 'OwnershipControls', 'Rule ObjectOwnership | ObjectWriter BucketOwnerEnforced Nobody'],
  [
    readLockConfiguration,
    'ObjectLockConfiguration',
    'ObjectLockEnabled Rule DefaultRetention Mode Days Years | Enabled GOVERNANCE COMPLIANCE 1 0 -1 99999999999',
  ],
]

function nodes(root: string, vocabulary: string): fc.Arbitrary<XmlNode> {
  const [elements, words] = vocabulary.split(' | ').map(half => half.split(' ')) as [string[], string[]]
  const text = fc.oneof(fc.constantFrom(...words, ''), fc.string({ maxLength: 5 }))
  const attributes: ReadonlyMap<string, string> = new Map()
  const { node } = fc.letrec<{ node: XmlNode; leaf: XmlNode; branch: XmlNode }>(tie => ({
    node: fc.oneof({ maxDepth: 4, withCrossShrink: true }, tie('leaf'), tie('branch')),
    leaf: fc.record({
      name: fc.constantFrom(...elements),
      attributes: fc.constant(attributes),
      children: fc.constant([]),
      text,
    }),
    branch: fc.record({
      name: fc.constantFrom(...elements),
      attributes: fc.constant(attributes),
      children: fc.array(tie('node'), { maxLength: 4 }),
      text: fc.constant(''),
    }),
  }))
  return fc.array(node, { maxLength: 4 }).map(children => ({ name: root, attributes, children, text: '' }))
}

for (const [read, root, vocabulary] of KINDS) {
  test(`A65 ${root}: any tree is read or refused, and what is stored reads the same`, () => {
    fc.assert(
      fc.property(nodes(root, vocabulary), tree => {
        let first: unknown
        try {
          first = read(tree)
        } catch (error) {
          assert(error instanceof BadXml || error instanceof Fault, String(error))
          return
        }
        assert.deepEqual(read(parseXml(documentText(documentFromTree(tree)))), first)
      }),
      { numRuns: 400 },
    )
  })
}
