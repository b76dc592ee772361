/**
 * Chooses the driver that stores blobs: a path is a folder, and an address names an engine. No other file names a
 * driver. Drivers of addresses are loaded on demand.
 */
import type { Blobs } from '../blobs/blobs.ts'
import { type BlobsOptions, openBlobs, RESERVE_BYTES } from '../blobs/file-blobs.ts'
import { claimFolder } from '../blobs/folder-claim.ts'
import { MovingBlobs } from '../blobs/moving-blobs.ts'
import { parseRadosAddress } from '../blobs/rados/address.ts'
import { parseS3Place } from '../blobs/s3/place.ts'
import type { S3BlobsOptions } from '../blobs/s3/s3-blobs.ts'
import { type Disk, realDisk } from '../lib/disk.ts'
import { WRITER_BYTES } from '../lib/ids.ts'
import { systemRandom } from '../lib/random.ts'
import { BadConfig } from './bad-config.ts'
import { secretFrom, secretIn } from './config-secrets.ts'

interface DriverOptions extends Pick<BlobsOptions, 'writer' | 'durability' | 'reserveBytes'> {
  /** Given by the process that owns the store, which checks that the engine is fit and that no other store uses it. */
  readonly storeId?: Buffer
}

interface BlobDriver {
  /** Throws an error that says what is wrong with the address, without any part that may be secret. */
  check(address: URL): void
  open(address: URL, options: DriverOptions): Promise<Blobs>
}

/** By the scheme of the address. */
const DRIVERS: Readonly<Record<string, BlobDriver>> = {
  rados: { check: parseRadosAddress, open: openRadosDriver },
  s3: { check: parseS3Place, open: openS3Driver },
}

async function openRadosDriver(address: URL, options: DriverOptions): Promise<Blobs> {
  const { writer, reserveBytes = RESERVE_BYTES, storeId } = options
  const { openRadosBlobs } = await import('../blobs/rados/rados-blobs.ts')
  return openRadosBlobs(parseRadosAddress(address), { writer, reserveBytes, storeId })
}

/** The keys of the other store are in the environment. */
export function s3OptionsOf(address: URL, writer: Buffer): S3BlobsOptions {
  const place = parseS3Place(address)
  const accessKey = secretFrom(process.env, 'HOLDFAST_BLOBS_ACCESS_KEY')
  const secretKey = secretFrom(process.env, 'HOLDFAST_BLOBS_SECRET_KEY')
  if (accessKey === undefined || secretKey === undefined) {
    throw new BadConfig('blobs in an S3 store need HOLDFAST_BLOBS_ACCESS_KEY and HOLDFAST_BLOBS_SECRET_KEY')
  }
  const ca = place.caFile === undefined ? undefined : secretIn(place.caFile, 'the option ca of the s3:// address')
  return { place, key: { accessKey, secretKey }, ca, writer }
}

async function openS3Driver(address: URL, { writer, storeId }: DriverOptions): Promise<Blobs> {
  const options = s3OptionsOf(address, writer)
  const { openS3Blobs, prepareS3Store } = await import('../blobs/s3/s3-blobs.ts')
  if (storeId !== undefined) await prepareS3Store(options, storeId)
  return openS3Blobs(options)
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i

export const isBlobsAddress = (place: string): boolean => SCHEME.test(place)

/** The place without user, password and options, for messages. */
export function printableBlobsPlace(place: string): string {
  if (!isBlobsAddress(place)) return place
  return place.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//')
}

function driverOf(place: string): { driver: BlobDriver; address: URL } {
  const scheme = SCHEME.exec(place)![1]!.toLowerCase()
  const driver = Object.hasOwn(DRIVERS, scheme) ? DRIVERS[scheme] : undefined
  if (driver === undefined) {
    const known = ['a folder', ...Object.keys(DRIVERS).map(name => `an address ${name}://…`)].join(' or ')
    throw new Error(`blobs cannot be stored at ${scheme}://…: name ${known}`)
  }
  if (!URL.canParse(place)) throw new Error(`the ${scheme}:// address of the blobs is malformed`)
  return { driver, address: new URL(place) }
}

/** Throws if the place is an address that no driver can use. Nothing is opened. */
export function checkBlobsPlace(place: string): void {
  if (!isBlobsAddress(place)) return
  const { driver, address } = driverOf(place)
  driver.check(address)
}

/** `disk` stores the blobs of a folder. */
export async function openBlobsAt(
  place: string,
  options: DriverOptions & Partial<Pick<BlobsOptions, 'disk'>>,
): Promise<Blobs> {
  const { disk = realDisk, ...given } = options
  if (!isBlobsAddress(place)) {
    const { storeId, ...folder } = given
    if (storeId !== undefined) await claimFolder(disk, place, storeId)
    return openBlobs({ ...folder, disk, folder: place })
  }
  checkBlobsPlace(place)
  const { driver, address } = driverOf(place)
  return driver.open(address, given)
}

/** Opens the blobs at a place, and those that move there from another one. */
export async function openMovingBlobs(
  place: string,
  from: string | undefined,
  options: Parameters<typeof openBlobsAt>[1],
): Promise<Blobs> {
  const target = await openBlobsAt(place, options)
  if (from === undefined) return target
  try {
    return new MovingBlobs(await openBlobsAt(from, options), target)
  } catch (error) {
    await target.close()
    throw error
  }
}

/** True when the folder or engine has no blobs, named or not. */
export async function hasNoBlobs(place: string, disk: Disk = realDisk): Promise<boolean> {
  const blobs = await openBlobsAt(place, { writer: systemRandom.bytes(WRITER_BYTES), disk })
  try {
    if ((await blobs.volumes()).length > 0) return false
    for await (const _ of blobs.solos()) return false
    return true
  } finally {
    await blobs.close()
  }
}
