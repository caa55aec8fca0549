import type { Messages } from '../index.tsx'

export const identities: Messages['identities'] = {
  title: 'サインインに使うアカウント',
  help: 'ID プロバイダーのアカウントです。そのいずれかでサインインした人は、自分としてサインインします。',
  link: 'アカウントを連携',
  none: '連携しているアカウントはありません。',
  lastSignIn: '最終サインイン',
  unlink: '連携を解除',
  unlinkOf: (name) => `${name} の連携を解除`,
  unlinked: (name) => `${name} の連携を解除しました`,
  unlinkTitle: (name) => `${name} の連携を解除しますか？`,
  unlinkText: '再び連携するまで、このアカウントではサインインできません。サインイン中のブラウザーはそのままです。',
}
