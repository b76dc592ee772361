/** The objects of a bucket, folder by folder. */
import { Button, Group, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type DragEvent, useEffect, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { useSession } from '../api/session.tsx'
import { lastPart, visibleText } from '../format.ts'
import type { Entry } from '../objects/listing.ts'
import { BucketTabs } from '../parts/bucket-tabs.tsx'
import { Icon } from '../parts/icons.tsx'
import { notifyError } from '../parts/notices.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { navigate, toFolder } from '../router.tsx'
import { texts } from '../texts/texts.ts'
import { type ChosenFile, droppedFiles } from '../uploads/dropped-files.ts'
import { InterruptedUploads } from '../uploads/interrupted-uploads.tsx'
import { uploadQueue } from '../uploads/upload-queue.ts'
import { FolderMenu } from './folder-menu.tsx'
import { FolderPath } from './folder-path.tsx'
import { ObjectList } from './object-list.tsx'
import classes from './objects-page.module.css'
import { SelectionBar } from './selection-bar.tsx'
import { UploadButton } from './upload-button.tsx'

const t = texts.objects

interface ObjectsPageProps {
  readonly bucket: string
  readonly prefix: string
  readonly search: string
  readonly isDeleted: boolean
}

/** The address follows what is typed, so that a search can be shared; typing does not fill the history. */
function SearchField({ bucket, prefix, search, isDeleted }: ObjectsPageProps) {
  const [text, setText] = useState(search)
  useEffect(() => {
    if (text === search) return
    const go = (): void => navigate(toFolder(bucket, prefix, { search: text, deleted: isDeleted }), { replace: true })
    const timer = setTimeout(go, 250)
    return () => clearTimeout(timer)
  }, [text, search, bucket, prefix, isDeleted])
  return (
    <TextInput
      aria-label={`${t.search}. ${t.searchHint}`}
      placeholder={t.search}
      leftSection={<Icon name="search" />}
      value={text}
      onChange={event => setText(event.currentTarget.value)}
      className={classes.search}
    />
  )
}

/** Everything that a finished upload of this bucket may change is read again. */
function useRefreshAfterUploads(bucket: string): void {
  const queries = useQueryClient()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const stop = uploadQueue.onDone(arrivedIn => {
      if (arrivedIn !== bucket) return
      clearTimeout(timer)
      timer = setTimeout(() => void queries.invalidateQueries({ queryKey: ['listing', bucket] }), 300)
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [bucket, queries])
}

function useDropTarget(onFiles: (files: readonly ChosenFile[]) => void) {
  const [isOver, setOver] = useState(false)
  const carriesFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes('Files')
  const handlers = {
    onDragOver: (event: DragEvent) => {
      if (!carriesFiles(event)) return
      event.preventDefault()
      setOver(true)
    },
    onDragLeave: (event: DragEvent) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false)
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      void droppedFiles(event.dataTransfer).then(files => {
        if (files.length === 0) notifyError(texts.uploads.noFiles)
        else onFiles(files)
      })
    },
  }
  return { isOver, handlers }
}

export default function ObjectsPage(props: ObjectsPageProps) {
  const { bucket, prefix, search, isDeleted } = props
  const { accessKey } = useSession()
  const [chosen, setChosen] = useState<ReadonlyMap<string, Entry>>(new Map())
  const permissions = usePermissions({ write: { action: 's3:PutObject', bucket, key: `${prefix}file` } })
  const upload = (files: readonly ChosenFile[]): void => {
    const keyed = files.map(({ path, file }) => ({ key: prefix + path, file }))
    uploadQueue.add({ bucket, accessKey }, keyed)
  }
  const { isOver, handlers } = useDropTarget(upload)
  useRefreshAfterUploads(bucket)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a selection belongs to the list it was made in.
  useEffect(() => setChosen(new Map()), [prefix, search, isDeleted])
  const title = prefix === '' ? bucket : visibleText(lastPart(prefix))
  return (
    <div className={classes.page} data-over={isOver} {...handlers}>
      <PageHead title={title} above={<FolderPath bucket={bucket} prefix={prefix} />}>
        <Button
          variant="default"
          leftSection={<Icon name={isDeleted ? 'file' : 'trash'} />}
          onClick={() => navigate(toFolder(bucket, prefix, { deleted: !isDeleted }))}
        >
          {isDeleted ? t.showCurrent : t.showDeleted}
        </Button>
        {!isDeleted && prefix !== '' && <FolderMenu bucket={bucket} prefix={prefix} />}
        {!isDeleted && <UploadButton permission={permissions.write} onFiles={upload} />}
      </PageHead>
      <BucketTabs bucket={bucket} />
      <InterruptedUploads bucket={bucket} />
      <Group>
        <SearchField key={`${prefix}/${isDeleted}`} {...props} />
      </Group>
      {chosen.size > 0 && (
        <SelectionBar place={{ bucket, prefix }} chosen={[...chosen.values()]} clear={() => setChosen(new Map())} />
      )}
      <ObjectList {...props} chosen={chosen} setChosen={setChosen} />
      {isOver && (
        <div className={classes.drop} aria-hidden="true">
          {t.dropHere(visibleText(`${bucket}/${prefix}`))}
        </div>
      )}
    </div>
  )
}
