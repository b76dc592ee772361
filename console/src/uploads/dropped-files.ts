/** Files that a person dropped or chose, with their path inside the folder that was dropped. */
export interface ChosenFile {
  readonly path: string
  readonly file: File
}

export async function droppedFiles(data: DataTransfer): Promise<ChosenFile[]> {
  // The list is emptied when the event is over, so everything is taken before the first wait.
  const items = [...data.items].map(item => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }))
  const found: ChosenFile[] = []
  for (const { entry, file } of items) {
    if (entry !== null) await collect(entry, '', found)
    // Some programs hand over a file that is on no disk.
    else if (file !== null) found.push({ path: file.name, file })
  }
  return found
}

async function collect(entry: FileSystemEntry, above: string, found: ChosenFile[]): Promise<void> {
  const path = above + entry.name
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    found.push({ path, file })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  for (;;) {
    // A reader returns at most a hundred entries at a time, and none at the end.
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (batch.length === 0) return
    for (const child of batch) await collect(child, `${path}/`, found)
  }
}

export const chosenFiles = (files: FileList): ChosenFile[] =>
  [...files].map(file => ({ path: file.webkitRelativePath || file.name, file }))
