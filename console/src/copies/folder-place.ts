/** A folder of a bucket. */
export interface FolderPlace {
  readonly bucket: string
  /** Ends with a slash, or is empty. */
  readonly prefix: string
}
