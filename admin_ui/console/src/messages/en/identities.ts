export const identities = {
  title: 'Accounts to sign in with',
  help: 'Accounts at identity providers. Whoever signs in there with one of them is signed in as you.',
  link: 'Link an account',
  none: 'No account is linked.',
  lastSignIn: 'last sign-in',
  unlink: 'Unlink',
  unlinkOf: (name: string) => `Unlink ${name}`,
  unlinked: (name: string) => `${name} was unlinked`,
  unlinkTitle: (name: string) => `Unlink ${name}?`,
  unlinkText: 'Nobody signs in with it any more, until it is linked again. Browsers that are signed in stay so.',
}
