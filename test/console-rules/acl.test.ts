/** The text of an ACL and the grants in it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AclReading, grantsIn } from '../../console/src/access/acl-document.ts'

const ALL = '<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI>'
const grant = (grantee: string, permission: string): string =>
  `<Grant><Grantee>${grantee}</Grantee><Permission>${permission}</Permission></Grant>`
const acl = (...grants: readonly string[]): string => {
  const list = `<AccessControlList>${grants.join('')}</AccessControlList>`
  return `<AccessControlPolicy><Owner><ID>o</ID></Owner>${list}</AccessControlPolicy>`
}

test('the grants of a document are read, or what is wrong with it is named', () => {
  const table: readonly (readonly [string, AclReading])[] = [
    [acl(), { grants: [] }],
    [
      acl(grant('<ID>a</ID><DisplayName>Ann</DisplayName>', 'FULL_CONTROL'), grant(ALL, 'READ'), grant(ALL, 'READ')),
      {
        grants: [
          { kind: 'account', value: 'a', name: 'Ann', permission: 'FULL_CONTROL' },
          { kind: 'group', value: 'AllUsers', permission: 'READ' },
        ],
      },
    ],
    [acl(grant(ALL, 'PEEK')), { problem: { kind: 'permission' } }],
    [acl(grant('<EmailAddress>a@b</EmailAddress>', 'READ')), { problem: { kind: 'grantee' } }],
    [acl(grant('<URI>http://example.com/AllUsers</URI>', 'READ')), { problem: { kind: 'group' } }],
    [acl('<Grant/>'), { problem: { kind: 'permission' } }],
    ['<AccessControlPolicy/>', { problem: { kind: 'root' } }],
    [`${acl()}\n<more/>`, { problem: { kind: 'malformed', line: 2 } }],
    ['<AccessControlPolicy>\n<Owner>', { problem: { kind: 'malformed', line: 2 } }],
  ]
  for (const [text, reading] of table) assert.deepEqual(grantsIn(text), reading)
})
