/** Parts that remember what a person did forget it when another one comes, and go on when the same one is back. */
const forgets = new Set<() => void>()
const goesOn = new Set<() => void>()

export function whenPersonLeaves(forget: () => void): void {
  forgets.add(forget)
}

export function personLeaves(): void {
  for (const forget of forgets) forget()
}

/** The session had ended, and the same person signed in again. */
export function whenPersonReturns(goOn: () => void): void {
  goesOn.add(goOn)
}

export function personReturns(): void {
  for (const goOn of goesOn) goOn()
}
