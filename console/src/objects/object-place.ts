/** Where an object is: the current version, or the one that is named. */
export interface ObjectPlace {
  readonly bucket: string
  readonly key: string
  readonly versionId?: string | undefined
}
