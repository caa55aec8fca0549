"""The texts of the pages of connecting in Japanese: a part of broker.web.locales.ja."""

from collections.abc import Mapping

MESSAGES: Mapping[str, str] = {
    "connect.list.title": "アカウントの接続",
    "connect.list.lead": "{tenant} の {email} さんが使えるサービスと、それぞれが使うアカウントです。",
    "connect.list.none": "この組織には、あなたのアカウントを必要とするサービスはありません。",
    "connect.list.all": "未接続の {number} 件を順番に接続する",
    "connect.title": "{service} を接続",
    "connect.title.manage": "{service} の接続",
    "connect.as": "{tenant} の {email} さん用",
    "connect.for_role": "ロール {role} の全メンバーが共同で使うアカウントです",
    "connect.queue": "{of} 件中 {number} 件目",
    "connect.queue.after": "{service} を接続しました。次のサービスに進みます。",
    "connect.skip": "このサービスを飛ばす",
    "connect.state.own": "{account} として接続済み",
    "connect.state.own.nameless": "接続済み",
    "connect.state.site": "サイト: {site}",
    "connect.state.shared": "ロール {role} がアカウント {account} を共有しています",
    "connect.state.shared.nameless": "ロール {role} がアカウントを共有しています",
    "connect.state.broken": "再接続が必要です: {account}",
    "connect.state.none": "未接続",
    "connect.state.unregistered": "未設定です。先に管理者がアプリを登録する必要があります",
    "connect.nameless": "名前のわからないアカウント",
    "connect.by_roles": "ロールが共有しているアカウント",
    "connect.by_roles.text": "管理者として表示しています。ロールの全メンバーがこのアカウントを使います。",
    "connect.by_roles.role": "{role} 用",
    "connect.by_roles.label": "{role} の {service}: {action}",
    "connect.by_roles.more": "ほかに {number} 件あります: <code>mcpist credential list</code>",
    "connect.state.shared_broken": "ロール {role} が共有しているアカウントは使えなくなっています",
    "connect.tag.connected": "接続済み",
    "connect.tag.broken": "使えません",
    "connect.tag.refreshing": "更新中",
    "connect.tag.refused": "一時的に拒否",
    "connect.tag.away": "一時的に利用不可",
    "connect.tag.misconfigured": "設定に問題あり",
    "connect.standing.refreshing": "アクセスを更新しています。何もする必要はありません。",
    "connect.standing.refused": "{service} がこのアカウントまたはキーを拒否しています。MCPist が自動で再確認します。"
    "取り消した場合は、再接続してください。",
    "connect.standing.away": "アクセスを更新するための {service} への接続ができないか、待つように求められています。"
    "MCPist が自動で再試行します。何もする必要はありません。",
    "connect.standing.misconfigured": "{service} が、管理者の登録したアプリを拒否しています。接続は失われていません。"
    "管理者に知らせてください。接続し直しても解決しません。",
    "connect.client.title": "{provider} が、組織に登録されている OAuth クライアントを拒否しています",
    "connect.client.do": "接続は失われていません。提供元でアプリを確認し、現在の値を保存してください: "
    "<code>mcpist oauth-client set {id}</code>",
    "connect.client.role": "ロール {role} のものです。",
    "connect.open": "接続する",
    "connect.again": "再接続する",
    "connect.manage": "詳細",
    "connect.open.label": "{service} を{action}",
    "connect.done.connected": "{service} を接続しました。このページを閉じて、元の操作をもう一度行ってください。",
    "connect.done.connected_less": "{service} を接続しました。",
    "connect.done.kept": "変更はありません。接続は以前のままです。",
    "connect.done.declined": "サービス側で同意されませんでした。こちらでは何も変更していません。",
    "connect.done.disconnected": "{service} の接続を解除し、アクセスの終了をサービスに通知しました。",
    "connect.done.removed": "{service} の接続を解除し、MCPist からアクセス情報を削除しました。サービスには通知でき"
    "なかったため、不要であればサービス側でも取り消してください。",
    "connect.tools": "用途",
    "connect.tools.reading": "読み取り専用のツール",
    "connect.tools.writing": "変更を行うツール",
    "connect.whose": "利用者",
    "connect.whose.me": "自分だけ",
    "connect.whose.role": "{role} のメンバー",
    "connect.oauth": "{provider} で接続",
    "connect.oauth.asks": "{provider} で次の項目への同意を求められます。",
    "connect.oauth.fixed": "{provider} で同意を求められる項目は、管理者が登録したアプリで決まっています。",
    "connect.oauth.none": "{provider} には、アカウントの確認のほかは何も求めません。",
    "connect.oauth.joined": "次のサービスも同じ接続を使うため、一緒に同意を求めます。",
    "connect.oauth.also": "同じ同意を次のサービスにも使えます。",
    "connect.oauth.also.adds": "追加で求める項目:",
    "connect.oauth.also.nothing": "追加で求める項目はありません。",
    "connect.oauth.also.taken": "今は別の方法で接続されています。選ぶと置き換わります。",
    "connect.oauth.go": "{provider} に進む",
    "connect.oauth.again": "{provider} で再接続する",
    "connect.more": "権限の追加",
    "connect.more.text": "今は読み取り専用のツールだけが使えます。変更を行うツールには、{provider} でもう一度同意が"
    "必要です。そこで拒否しても、今の接続はそのままです。",
    "connect.more.go": "変更も許可する",
    "connect.lacking": "{provider} は求めた権限の一部を許可しませんでした。次の権限を使うツールは動きません。",
    "connect.key": "{service} のトークンで接続",
    "connect.key.text": "{service} でトークン（API キー）を作成し、ここに貼り付けてください。害のない要求で確認したう"
    "えで暗号化して保存し、二度と表示しません。",
    "connect.key.help": "トークンの作成場所",
    "connect.key.label": "トークン",
    "connect.key.user.email": "{service} のアカウントのメールアドレス",
    "connect.key.user.name": "{service} のユーザー名",
    "connect.key.go": "確認して接続する",
    "connect.other.title": "別のアカウントのトークンです",
    "connect.other": "このトークンは {now} のものです。現在は {before} が接続されています。置き換える場合は、下で選択し"
    "てトークンをもう一度貼り付けてください。",
    "connect.other.replace": "{before} を置き換える",
    "connect.refused.title": "保存していません",
    "connect.refused.key_form": "トークン全体ではないようです。トークンは空白を含まない 1 行の文字列です。",
    "connect.refused.key_user": "トークンに添えるユーザー名かメールアドレスがないか、コロンや特殊文字を含んでいるか、"
    "{service} では不要です。",
    "connect.refused.key_not_accepted": "{service} はこのトークンを受け付けません。一部が欠けているか、取り消し済み、期"
    "限切れ、または別のサーバーのトークンです。",
    "connect.refused.key_forbidden": "{service} はトークンを認識しましたが、権限が足りません。",
    "connect.refused.key_busy": "{service} への要求が多すぎます。1 分後にもう一度お試しください。",
    "connect.refused.key_away": "MCPist から {service} に接続できません。しばらくしてからもう一度お試しください。"
    "続く場合は、管理者がサービスのベース URL を確認してください。プライベートネットワーク内のホストは "
    "MCPIST_ALLOWED_PRIVATE_HOSTS に登録する必要があります。",
    "connect.refused.key_setup": "このサービスの設定が正しくありません。管理者に連絡してください。",
    "connect.refused.key_often": "短時間に多くのトークンが試されました。数分待ってください。",
    "connect.warning.no_reach": "{provider} に接続しましたが、アプリがどこにもインストールされていないため、ツールは"
    "何も見つけられません。アカウントか組織にインストールしてから、もう一度接続してください。",
    "connect.warning.go": "{provider} でインストールする",
    "connect.unregistered": "先に管理者が {provider} にアプリを登録する必要があります。",
    "connect.unregistered.admin": "{provider} で接続するには、次のリダイレクト URI で OAuth アプリを登録し、クライ"
    "アント ID とシークレットを保存してください: <code>mcpist oauth-client set {id}</code>",
    "connect.unregistered.admin.github": "GitHub App（推奨）: 権限はアプリ側で設定され、トークンには"
    "有効期限があります。OAuth App ではなく GitHub App を次のコールバック URL で登録し、クライアント ID とシークレット"
    "を保存してください: <code>mcpist oauth-client set github</code>",
    "connect.unregistered.admin.github_oauth_app": "OAuth App（GitHub App を使えない場合）: 広い範囲の"
    "スコープを求め、トークンに有効期限はありません。OAuth App を次のコールバック URL で登録し、クライアント ID とシー"
    "クレットを保存してください: <code>mcpist oauth-client set github_oauth_app</code>",
    "connect.unregistered.either": "どちらか一方で十分です。",
    "connect.unregistered.uri": "リダイレクト URI",
    "connect.noway": "このサービスを接続する方法はまだありません。",
    "connect.disconnect": "接続を解除する",
    "connect.disconnect.title": "接続の解除",
    "connect.disconnect.text": "アクセスの終了をサービスに通知し、MCPist から削除します。同じ接続を使う他のサービス"
    "も使えなくなります。",
    "connect.disconnect.key": "MCPist からトークンを削除します。サービス側では、取り消すまで有効です。",
    "connect.ended.manage": "サービス側で取り消す",
    "connect.back": "すべてのサービス",
    "connect.question.title": "もう 1 つ選択してください",
    "connect.question.title.swap": "以前と別のアカウントです",
    "connect.question.account": "{account} として同意されました。",
    "connect.question.title.untold": "以前と同じアカウントですか？",
    "connect.question.for": "{email} さんだけが使う {services} の接続です。",
    "connect.question.for_role": "ロール {role} の全メンバーが共同で使う {services} の接続です。",
    "connect.question.account.untold": "どのアカウントで同意されたかを、サービスは知らせていません。",
    "connect.question.before": "現在は {before} が接続されています。",
    "connect.question.before.nameless": "現在接続されているアカウントの名前を、サービスは知らせていません。",
    "connect.question.untold": "同じアカウントかどうかは、こちらではわかりません。ご自身で判断してください。",
    "connect.question.swap": "続けると新しいアカウントに置き換わり、以前の接続は終了します。",
    "connect.question.swap.role": "続けると、以後 {role} の全メンバーが新しいアカウントを使うことになり、以前の接続は終"
    "了します。",
    "connect.question.swap.caution": "アカウントを変えるつもりがなければ、元のままにしてください。",
    "connect.question.sites": "どのサイトを使いますか？",
    "connect.question.go": "このアカウントを使う",
    "connect.question.site.go": "このサイトを使う",
    "connect.question.swap.go": "置き換える",
    "connect.question.keep": "元のままにする",
    "problem.connect_home": "サービスの画面に戻る",
    "problem.connect_unknown.title": "ここで始めた操作への応答ではありません",
    "problem.connect_unknown.text": "アカウントの接続は、始めた本人が、始めたブラウザーで終える必要があります。各手"
    "順は 10 分間、1 回だけ使えます。何も保存していません。",
    "problem.connect_unknown.do": "ご自身で始めた場合は、このブラウザーでやり直してください。誰かに案内された場合は"
    "、このページを閉じてください。",
    "problem.connect_session_over.title": "アカウントを接続するこのリンクは終了しました",
    "problem.connect_session_over.text": "リンクは 1 時間、または取り消されるまで有効です。それまでに接続したものは接"
    "続されたままです。",
    "problem.connect_session_over.do": "リンクの入手元で新しいものを求めるか、ここで <code>/connect</code> を開いてくだ"
    "さい。",
    "problem.connect_issuer.title": "応答の送信元が正しくありません",
    "problem.connect_issuer.text": "問い合わせたサーバーからの応答であることが示されていません。アカウントの取り違"
    "えを狙った攻撃の可能性があるため、何も保存していません。",
    "problem.connect_issuer.do": "やり直してください。繰り返す場合は管理者に連絡してください。",
    "problem.connect_code.title": "{title} が接続を確認しませんでした",
    "problem.connect_code.text": "ブラウザーが届けた応答が受け付けられませんでした。何も保存していません。",
    "problem.connect_code.do": "やり直してください。",
    "problem.connect_refused.title": "{title} が要求を拒否しました",
    "problem.connect_refused.text": "管理者が登録したアプリは、この項目を求めることを許されていません。こちらでは何も変"
    "更していません。",
    "problem.connect_refused.do": "{title} でのアプリの設定と権限を確認するよう、管理者に依頼してください。拒否の理由は"
    "監査ログにあります。",
    "problem.connect_question_over.title": "選択するものはもうありません",
    "problem.connect_question_over.text": "すでに回答済みか、10 分が過ぎたか、別のブラウザーで表示された質問です。",
    "problem.connect_question_over.do": "現在の接続はサービスの一覧で確認できます。必要であれば、そこからやり直してくだ"
    "さい。",
    "problem.connect_nothing.title": "ここに接続するものはありません",
    "problem.connect_nothing.text": "アドレスが間違っているか古いか、あなたのロールではこのサービスを使えなくなっていま"
    "す。",
    "problem.connect_nothing.do": "使えるサービスは一覧にあります。足りないものがあれば、管理者に連絡してください。",
    "problem.copy.title": "この MCPist はコピーです",
    "problem.copy.text": "バックアップから復元されたまま採用されていないため、どのサービスにも接続しません。こちらでも"
    "サービス側でも、何も変更していません。",
    "problem.copy.do": "元の MCPist を使ってください。元のものが動いていない場合は、運用者がここで <code>mcpist adopt"
    "</code> を実行すると、数秒後に使えるようになります。",
    "problem.connect_setup.title": "{title} との接続設定が正しくありません",
    "problem.connect_setup.text": "{title} は、管理者が登録したアプリを拒否しました。ID、シークレット、リダイレクト"
    " URI のいずれかが違います。何も保存していません。",
    "problem.connect_setup.do": "このサービスの OAuth クライアントを確認するよう、管理者に依頼してください。",
    "problem.connect_away.title": "{title} が応答しません",
    "problem.connect_away.text": "接続を完了できませんでした。何も保存していません。",
    "problem.connect_away.do": "しばらくしてからやり直してください。",
    "problem.connect_elsewhere.title": "このサービス用のアクセスになりません",
    "problem.connect_elsewhere.text": "このサービスには {title} のものではないアドレスが設定されています。アクセス情報"
    "を他へ送らないよう、接続していません。",
    "problem.connect_elsewhere.do": "サービスのベース URL と OAuth アプリを確認するよう、管理者に依頼してください。",
    "problem.connect_no_site.title": "使えるサイトがありません",
    "problem.connect_no_site.text": "{title} で同意されましたが、そのアカウントには使えるサイトがありません。",
    "problem.connect_no_site.do": "別のアカウントを選ぶか、サイトの管理者に参加を依頼してください。",
}
