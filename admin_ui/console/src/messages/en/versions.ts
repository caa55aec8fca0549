/** What somebody else has changed while one edits it. */
export const versions = {
  title: 'Somebody else has changed this',
  by: (name: string, when: string) => `${name} changed it ${when}. Nothing of yours was saved yet.`,
  somebody: 'Another administrator',
  field: 'What',
  theirs: 'Is now',
  mine: 'Yours',
  kept: 'as it is now',
  take: 'Take the new state',
  apply: 'Apply mine again',
  merged: 'Somebody else had changed something else meanwhile; both changes were kept.',
  changedAt: 'Changed',
}
