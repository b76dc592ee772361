/** The browser's own dialog for files, without a field on the page. Never resolves when a person cancels it. */
import { type ChosenFile, chosenFiles } from './dropped-files.ts'

export function chooseFiles(): Promise<ChosenFile[]> {
  return new Promise(resolve => {
    const field = document.createElement('input')
    field.type = 'file'
    field.multiple = true
    field.addEventListener('change', () => resolve(chosenFiles(field.files!)))
    field.click()
  })
}
