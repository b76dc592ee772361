/**
 * `GET`, `PUT` and `DELETE` of a bucket's sub-resource work alike for all documents. A kind declares what differs: its
 * name, its actions, how it is parsed and shown, and where it is stored.
 */
import type { XmlNode } from '../../lib/xml.ts'
import { parseXml } from '../../lib/xml-reader.ts'
import type { XmlDocument } from '../../lib/xml-writer.ts'
import { Fault, type FaultCode } from '../../model/faults.ts'
import type { Action } from '../../rules/access/actions.ts'
import { documentFromTree, documentText } from '../../rules/documents/tree.ts'
import type { Header, OperationContext } from '../context.ts'
import { type Operation, type OperationResponse, operation, requires } from '../operation.ts'
import { type BodyRule, readXml, wholeBody } from '../whole-body.ts'

export interface DocumentKind<T> {
  /** Name of the sub-resource. */
  readonly query: string
  readonly get: {
    readonly name: string
    readonly needs: Action
    /** Headers of the response. */
    readonly headers?: (ctx: OperationContext) => Promise<readonly Header[]>
  }
  readonly put: {
    readonly name: string
    readonly needs: Action
    readonly status?: (ctx: OperationContext) => number
    readonly headers?: (ctx: OperationContext) => readonly Header[]
    readonly proof?: BodyRule['proof']
    readonly bytesMax?: number
  }
  readonly remove?: { readonly name: string; readonly needs: Action }
  /** The fault when it is not set. */
  readonly absent: FaultCode
  /** Undefined when it has never been set. */
  readonly show: (ctx: OperationContext) => Promise<XmlDocument | undefined>
  readonly read: (root: XmlNode) => T
  readonly keep: (ctx: OperationContext, document: T) => Promise<void>
  readonly drop?: (ctx: OperationContext) => Promise<void>
}

function getOperation<T>({ query, get, show, absent }: DocumentKind<T>): Operation {
  return operation({
    name: get.name,
    match: { method: 'GET', on: 'bucket', requires: [`?${query}`] },
    permission: requires(get.needs),
    input: {},
    async run(ctx): Promise<OperationResponse> {
      const body = await show(ctx)
      if (body === undefined) throw new Fault(absent, { BucketName: ctx.target.bucket })
      return { body, headers: (await get.headers?.(ctx)) ?? [] }
    },
  })
}

function putOperation<T>({ query, put, read, keep }: DocumentKind<T>): Operation {
  return operation({
    name: put.name,
    match: { method: 'PUT', on: 'bucket', requires: [`?${query}`] },
    permission: requires(put.needs),
    input: {},
    async run(ctx): Promise<OperationResponse> {
      const body = await wholeBody(ctx, { proof: put.proof ?? 'checksum', bytesMax: put.bytesMax })
      if (body.length === 0) throw new Fault('MissingRequestBodyError')
      await keep(ctx, readXml(body, read))
      return { status: put.status?.(ctx) ?? 200, headers: put.headers?.(ctx) ?? [] }
    },
  })
}

function removeOperation<T>({ query, remove, drop }: DocumentKind<T>): Operation[] {
  if (remove === undefined || drop === undefined) return []
  return [
    operation({
      name: remove.name,
      match: { method: 'DELETE', on: 'bucket', requires: [`?${query}`] },
      permission: requires(remove.needs),
      input: {},
      // Removing a missing document succeeds.
      async run(ctx): Promise<OperationResponse> {
        await drop(ctx)
        return { status: 204 }
      },
    }),
  ]
}

export const documentOperations = <T>(kind: DocumentKind<T>): Operation[] => [
  getOperation(kind),
  putOperation(kind),
  ...removeOperation(kind),
]

/** Storage for documents that are not part of the bucket's record. */
export function storedAs(name: string) {
  return {
    text: async (ctx: OperationContext): Promise<string | undefined> =>
      ctx.bucket.documents.includes(name) ? ctx.store.documents.get(ctx.bucket.name, name) : undefined,
    put: (ctx: OperationContext, text: string): Promise<void> => ctx.store.documents.put(ctx.bucket.name, name, text),
    remove: (ctx: OperationContext): Promise<void> => ctx.store.documents.remove(ctx.bucket.name, name),
  }
}

/**
 * The document as it will be read from its record, or BadXml. Escaped again it may exceed the limits of what is read:
 * quotation marks are sent as such and stored as references.
 */
export const asStored = (root: XmlNode): XmlNode => parseXml(documentText(documentFromTree(root)))

/** A document that is validated, stored as sent and returned as sent. */
export function keptAsSent(name: string, check: (root: XmlNode) => unknown) {
  const stored = storedAs(name)
  return {
    async show(ctx: OperationContext): Promise<XmlDocument | undefined> {
      const text = await stored.text(ctx)
      return text === undefined ? undefined : documentFromTree(parseXml(text))
    },
    read(root: XmlNode): XmlNode {
      check(asStored(root))
      return root
    },
    keep: (ctx: OperationContext, root: XmlNode): Promise<void> =>
      stored.put(ctx, documentText(documentFromTree(root))),
    drop: stored.remove,
  }
}
