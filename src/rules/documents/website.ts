/** Website configuration of a bucket. */
import {
  BadXml,
  child,
  children,
  childText,
  onlyChildren,
  requiredChild,
  requiredText,
  rootNamed,
  type XmlNode,
} from '../../lib/xml.ts'
import { Fault } from '../../model/faults.ts'

export interface WebsiteRedirect {
  readonly hostName: string | undefined
  readonly protocol: 'http' | 'https' | undefined
  readonly status: number
  readonly replaceKeyWith: string | undefined
  readonly replacePrefixWith: string | undefined
}

export interface RoutingRule {
  readonly keyPrefix: string | undefined
  /** The error status that the rule replaces. */
  readonly errorStatus: number | undefined
  readonly redirect: WebsiteRedirect
}

export type Website =
  | { readonly kind: 'redirect'; readonly hostName: string; readonly protocol: 'http' | 'https' | undefined }
  | {
      readonly kind: 'pages'
      readonly indexSuffix: string
      readonly errorKey: string | undefined
      readonly rules: readonly RoutingRule[]
    }

const ROUTING_RULES_MAX = 50
const KEY_BYTES_MAX = 1024
const HOST_NAME = /^[A-Za-z0-9.\-_:[\]]{1,255}$/
// Values become part of a Location header and must not end it.
// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches exactly these characters
const CONTROL = /[\0-\x1f\x7f]/

const refused = (reason: string): Fault => new Fault('InvalidRequest', { reason })
const invalid = (name: string, value: string, reason: string): Fault =>
  new Fault('InvalidArgument', { reason, ArgumentName: name, ArgumentValue: value.slice(0, KEY_BYTES_MAX) })

export function readWebsite(root: XmlNode): Website {
  const parts = ['IndexDocument', 'ErrorDocument', 'RedirectAllRequestsTo', 'RoutingRules']
  onlyChildren(rootNamed(root, 'WebsiteConfiguration'), ...parts)
  const redirectAll = child(root, 'RedirectAllRequestsTo')
  if (redirectAll === undefined) return readPages(root)
  if (root.children.length > 1) {
    const reason = 'RedirectAllRequestsTo cannot be provided in conjunction with other Routing Rules.'
    throw invalid('RedirectAllRequestsTo', 'not null', reason)
  }
  onlyChildren(redirectAll, 'HostName', 'Protocol')
  const hostName = readHostName(redirectAll)
  if (hostName === undefined) throw new BadXml('RedirectAllRequestsTo has no HostName')
  return { kind: 'redirect', hostName, protocol: readProtocol(redirectAll) }
}

function readPages(root: XmlNode): Website {
  const index = child(root, 'IndexDocument')
  if (index === undefined) {
    const reason = 'A value for IndexDocument Suffix must be provided if RedirectAllRequestsTo is empty'
    throw invalid('IndexDocument', 'null', reason)
  }
  onlyChildren(index, 'Suffix')
  const indexSuffix = requiredText(index, 'Suffix')
  if (!isKey(indexSuffix) || indexSuffix.includes('/')) {
    throw invalid('IndexDocument', indexSuffix, 'The IndexDocument Suffix is not well formed')
  }
  const error = child(root, 'ErrorDocument')
  const errorKey = error === undefined ? undefined : requiredText(error, 'Key')
  if (errorKey !== undefined && !isKey(errorKey)) {
    throw invalid('ErrorDocument', errorKey, 'The ErrorDocument Key is not well formed')
  }
  const rules = child(root, 'RoutingRules')
  return { kind: 'pages', indexSuffix, errorKey, rules: rules === undefined ? [] : readRules(rules) }
}

const isKey = (text: string): boolean => text !== '' && Buffer.byteLength(text) <= KEY_BYTES_MAX && !CONTROL.test(text)

function readRules(node: XmlNode): RoutingRule[] {
  onlyChildren(node, 'RoutingRule')
  const rules = children(node, 'RoutingRule')
  if (rules.length > ROUTING_RULES_MAX) {
    const count = `${rules.length} routing rules provided, the number of routing rules in a website configuration`
    throw refused(`${count} is limited to ${ROUTING_RULES_MAX}.`)
  }
  return rules.map(readRule)
}

function readRule(node: XmlNode): RoutingRule {
  onlyChildren(node, 'Condition', 'Redirect')
  const condition = child(node, 'Condition')
  const redirect = readRedirect(requiredChild(node, 'Redirect'))
  if (condition === undefined) return { keyPrefix: undefined, errorStatus: undefined, redirect }
  onlyChildren(condition, 'KeyPrefixEquals', 'HttpErrorCodeReturnedEquals')
  if (condition.children.length === 0) {
    throw refused(
      'Condition cannot be empty. To redirect all requests without a condition, ' +
        "the condition element shouldn't be present.",
    )
  }
  const errorStatus = readStatus(condition, 'HttpErrorCodeReturnedEquals', /^[45]\d\d$/)
  return { keyPrefix: childText(condition, 'KeyPrefixEquals'), errorStatus, redirect }
}

function readRedirect(node: XmlNode): WebsiteRedirect {
  const parts = ['HostName', 'HttpRedirectCode', 'Protocol', 'ReplaceKeyPrefixWith', 'ReplaceKeyWith']
  onlyChildren(node, ...parts)
  if (node.children.length === 0) throw new BadXml('Redirect is empty')
  const replaceKeyWith = childText(node, 'ReplaceKeyWith')
  const replacePrefixWith = childText(node, 'ReplaceKeyPrefixWith')
  if (replaceKeyWith !== undefined && replacePrefixWith !== undefined) {
    throw refused('You can only define ReplaceKeyPrefix or ReplaceKey but not both.')
  }
  for (const text of [replaceKeyWith, replacePrefixWith]) {
    if (text !== undefined && (CONTROL.test(text) || Buffer.byteLength(text) > KEY_BYTES_MAX)) {
      throw refused('The replacement is not a valid object key.')
    }
  }
  return {
    hostName: readHostName(node),
    protocol: readProtocol(node),
    status: readStatus(node, 'HttpRedirectCode', /^30[1-8]$/) ?? 301,
    replaceKeyWith,
    replacePrefixWith,
  }
}

function readHostName(node: XmlNode): string | undefined {
  const text = childText(node, 'HostName')
  if (text !== undefined && !HOST_NAME.test(text)) throw refused('The HostName is not valid.')
  return text
}

function readProtocol(node: XmlNode): 'http' | 'https' | undefined {
  const text = childText(node, 'Protocol')
  if (text === undefined || text === 'http' || text === 'https') return text
  const rest = 'If not defined the protocol will be selected automatically.'
  throw refused(`Invalid protocol, protocol can be http or https. ${rest}`)
}

function readStatus(node: XmlNode, name: string, form: RegExp): number | undefined {
  const text = childText(node, name)
  if (text === undefined) return undefined
  if (!form.test(text)) throw refused(`The provided HTTP status in ${name} is not valid.`)
  return Number(text)
}
