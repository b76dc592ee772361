import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { XmlNode } from '../../lib/xml.ts'
import { Fault } from '../../model/faults.ts'
import { type AclDocumentForm, readAclDocument } from './acl-document.ts'
import { type GranteeDirectory, resolveGrants } from './acl-request.ts'
import { GROUP_URIS } from './names.ts'

const O = 'a'.repeat(64)
const LENIENT: AclDocumentForm = { mayHaveNoGrants: false, infersType: true, acceptsGrantsAsList: true }
const STRICT: AclDocumentForm = { mayHaveNoGrants: true, infersType: false, acceptsGrantsAsList: false }

const node = (name: string, inside: string | XmlNode[] = [], attributes: Record<string, string> = {}): XmlNode => ({
  name,
  attributes: new Map(Object.entries(attributes)),
  children: typeof inside === 'string' ? [] : inside,
  text: typeof inside === 'string' ? inside : '\n  ',
})
const owner = node('Owner', [node('ID', O), node('DisplayName', 'me')])
const typed = (type: string): Record<string, string> => ({
  'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema',
  'xsi:type': type,
})
const grantee = (child: string, value: string, type?: string): XmlNode =>
  node('Grantee', [node(child, value)], type === undefined ? {} : typed(type))
const grant = (of: XmlNode, permission = 'READ'): XmlNode => node('Grant', [of, node('Permission', permission)])
const acp = (grants: XmlNode[], list = 'AccessControlList'): XmlNode =>
  node('AccessControlPolicy', [owner, node(list, grants)])
const user = grant(grantee('ID', O, 'CanonicalUser'))

function refused(root: XmlNode, form: AclDocumentForm, name: string): void {
  const isMalformed = (error: unknown) => error instanceof Fault && error.code === 'MalformedACLError'
  assert.throws(() => readAclDocument(root, form), isMalformed, name)
}

test('R30 R31 G10: owner, grantees of every kind and every permission are read in order', () => {
  const document = acp([
    grant(grantee('ID', ` ${O}\n`, 'CanonicalUser'), 'FULL_CONTROL'),
    grant(grantee('URI', GROUP_URIS.AllUsers.s3, 'Group'), 'READ'),
    grant(grantee('EmailAddress', 'o@x', 'SvcCustomerByEmail'), 'WRITE'),
    grant(grantee('EmailAddress', 'o@x', 'AmazonCustomerByEmail'), 'READ_ACP'),
    grant(grantee('URI', GROUP_URIS.LogDelivery.svc, 'Group'), 'WRITE_ACP'),
    user,
    user,
  ])
  const directory: GranteeDirectory = {
    isCanonicalId: id => id === O,
    canonicalIdsOf: email => (email === 'o@x' ? [O] : []),
  }
  for (const form of [LENIENT, STRICT]) {
    const read = readAclDocument(document, form)
    assert.equal(read.ownerId, O)
    assert.deepEqual(
      resolveGrants(read.grants, directory, 'body').map(one => [one.grantee, one.group, one.permission]),
      [
        [O, false, 'FULL_CONTROL'],
        ['AllUsers', true, 'READ'],
        [O, false, 'WRITE'],
        [O, false, 'READ_ACP'],
        ['LogDelivery', true, 'WRITE_ACP'],
        [O, false, 'READ'],
        [O, false, 'READ'],
      ],
    )
  }
})

test('G10: unknown grantees in a document are refused', () => {
  const nobody: GranteeDirectory = { isCanonicalId: () => false, canonicalIdsOf: () => [] }
  const rows: [XmlNode, object][] = [
    [user, { reason: 'Invalid id', ArgumentName: 'CanonicalUser/ID', ArgumentValue: O }],
    [
      grant(grantee('URI', 'http://x', 'Group')),
      { reason: 'Invalid group uri', ArgumentName: 'Group/URI', ArgumentValue: 'http://x' },
    ],
  ]
  for (const [one, detail] of rows) {
    const { grants } = readAclDocument(acp([one]), LENIENT)
    assert.throws(
      () => resolveGrants(grants, nobody, 'body'),
      (error: Fault) => {
        assert.equal(error.code, 'InvalidArgument')
        assert.deepEqual(error.detail, detail)
        return true
      },
    )
  }
})

test('G10: documents that are refused in both dialects', () => {
  const rows: [string, XmlNode][] = [
    ['wrong root', node('AccessControlList', [owner, node('AccessControlList', [user])])],
    ['empty', node('AccessControlPolicy')],
    ['text only', node('AccessControlPolicy', '{}')],
    ['no owner', node('AccessControlPolicy', [node('AccessControlList', [user])])],
    ['two owners', node('AccessControlPolicy', [owner, owner, node('AccessControlList', [user])])],
    ['no owner id', node('AccessControlPolicy', [node('Owner', []), node('AccessControlList', [user])])],
    [
      'empty owner id',
      node('AccessControlPolicy', [node('Owner', [node('ID', ' ')]), node('AccessControlList', [user])]),
    ],
    ['no list', node('AccessControlPolicy', [owner])],
    [
      'two lists',
      node('AccessControlPolicy', [owner, node('AccessControlList', [user]), node('AccessControlList', [])]),
    ],
    ['a stranger in the list', acp([node('Grunt', user.children as XmlNode[])])],
    ['__proto__', acp([node('__proto__', [])])],
    ['bad permission', acp([grant(grantee('ID', O, 'CanonicalUser'), 'EXECUTE')])],
    ['no permission', acp([node('Grant', [grantee('ID', O, 'CanonicalUser')])])],
    ['no grantee', acp([node('Grant', [node('Permission', 'READ')])])],
    ['bad type', acp([grant(grantee('ID', O, 'Robot'))])],
    ['type and child differ', acp([grant(grantee('ID', O, 'Group'))])],
    ['grantee without a child', acp([grant(node('Grantee', [], typed('CanonicalUser')))])],
    ['101 grants', acp(new Array(101).fill(user))],
  ]
  for (const [name, root] of rows) for (const form of [LENIENT, STRICT]) refused(root, form, name)
  for (const form of [LENIENT, STRICT]) {
    assert.equal(readAclDocument(acp(new Array(100).fill(user)), form).grants.length, 100)
  }
})

test('D14 D16 D21: where the dialects differ', () => {
  assert.deepEqual(readAclDocument(acp([]), STRICT).grants, [])
  refused(acp([]), LENIENT, 'D14')
  const untyped = acp([grant(grantee('ID', O)), grant(grantee('URI', 'u')), grant(grantee('EmailAddress', 'e'))])
  assert.deepEqual(
    readAclDocument(untyped, LENIENT).grants.map(one => one.by),
    ['id', 'uri', 'email'],
  )
  refused(untyped, STRICT, 'D16')
  refused(acp([grant(node('Grantee', [node('ID', O), node('URI', 'u')]))]), LENIENT, 'D16, two children')
  assert.equal(readAclDocument(acp([user], 'Grants'), LENIENT).grants.length, 1)
  refused(acp([user], 'Grants'), STRICT, 'D21')
})
