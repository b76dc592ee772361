/** The text of an ACL, as a person edits it. */
import { BadXmlText, parseXmlText, type XmlElement } from '../rules/xml-text.ts'

export interface Grant {
  readonly kind: 'account' | 'group'
  /** A canonical id, or the last part of a group's URI. */
  readonly value: string
  /** Only of accounts. */
  readonly name?: string | undefined
  readonly permission: string
}

export type AclProblem =
  | { readonly kind: 'malformed'; readonly line: number }
  | { readonly kind: 'root' | 'grantee' | 'group' | 'permission' }

export type AclReading = { readonly grants: readonly Grant[] } | { readonly problem: AclProblem }

/** URIs of groups by the last part of each. */
export const GROUPS: Readonly<Record<string, string>> = {
  AllUsers: 'http://acs.amazonaws.com/groups/global/AllUsers',
  AuthenticatedUsers: 'http://acs.amazonaws.com/groups/global/AuthenticatedUsers',
  LogDelivery: 'http://acs.amazonaws.com/groups/s3/LogDelivery',
}

const PERMISSIONS = ['READ', 'WRITE', 'READ_ACP', 'WRITE_ACP', 'FULL_CONTROL']

const childOf = ({ children }: XmlElement, name: string): XmlElement | undefined =>
  children.find(child => child.name === name)

const textOf = (parent: XmlElement | undefined, name: string): string | undefined =>
  parent && childOf(parent, name)?.text.trim()

function grantIn(element: XmlElement): Grant | AclProblem {
  const grantee = childOf(element, 'Grantee')
  const [uri, id] = [textOf(grantee, 'URI'), textOf(grantee, 'ID')]
  const permission = textOf(element, 'Permission') ?? ''
  if (!PERMISSIONS.includes(permission)) return { kind: 'permission' }
  if (uri !== undefined) {
    const value = uri.slice(uri.lastIndexOf('/') + 1)
    return GROUPS[value] === uri ? { kind: 'group', value, permission } : { kind: 'group' }
  }
  if (id === undefined) return { kind: 'grantee' }
  return { kind: 'account', value: id, name: textOf(grantee, 'DisplayName'), permission }
}

export const isSameGrant = (one: Grant, other: Grant): boolean =>
  one.kind === other.kind && one.value === other.value && one.permission === other.permission

/** The grants of a document, or what is wrong with it. The owner stays who it is, whatever the document says. */
export function grantsIn(text: string): AclReading {
  let root: XmlElement
  try {
    root = parseXmlText(text)
  } catch (error) {
    if (error instanceof BadXmlText) return { problem: { kind: 'malformed', line: error.line } }
    throw error
  }
  const list = childOf(root, 'AccessControlList')
  if (root.name !== 'AccessControlPolicy' || list === undefined) return { problem: { kind: 'root' } }
  const grants: Grant[] = []
  for (const child of list.children) {
    const grant = grantIn(child)
    if (!('permission' in grant)) return { problem: grant }
    if (!grants.some(one => isSameGrant(one, grant))) grants.push(grant)
  }
  return { grants }
}
