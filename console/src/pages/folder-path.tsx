/** The way from the list of buckets to a folder or object. */
import { visibleText } from '../format.ts'
import { Link, toBuckets, toFolder } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import classes from './folder-path.module.css'

interface FolderPathProps {
  readonly bucket: string
  /** Ends with a slash, or is empty. */
  readonly prefix: string
}

export function FolderPath({ bucket, prefix }: FolderPathProps) {
  const parts = prefix.split('/').slice(0, -1)
  const folders = parts.map((name, i) => ({ name, prefix: `${parts.slice(0, i + 1).join('/')}/` }))
  return (
    <nav aria-label={texts.objects.breadcrumbs}>
      <ol className={classes.path}>
        <li>
          <Link href={toBuckets()}>{texts.shell.buckets}</Link>
        </li>
        <li>
          <Link href={toFolder(bucket)}>{bucket}</Link>
        </li>
        {folders.map(folder => (
          <li key={folder.prefix}>
            <Link href={toFolder(bucket, folder.prefix)} title={visibleText(folder.name)}>
              {visibleText(folder.name) || '(empty)'}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  )
}
