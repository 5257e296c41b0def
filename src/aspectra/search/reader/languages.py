"""Names of languages in English, German and Chinese, and their own."""

from __future__ import annotations

__all__ = ["LANGUAGE_NAMES", "language_lexicon"]

LANGUAGE_NAMES: dict[str, str] = {
    "af": "Afrikaans",
    "am": "Amharic",
    "ar": "Arabic, Arabisch, 阿拉伯语, 阿拉伯文, العربية",
    "az": "Azerbaijani",
    "be": "Belarusian, Weißrussisch",
    "bg": "Bulgarian, Bulgarisch, 保加利亚语",
    "bn": "Bengali, Bangla",
    "bs": "Bosnian, Bosnisch",
    "ca": "Catalan, Katalanisch, català",
    "cs": "Czech, Tschechisch, čeština, 捷克语",
    "cy": "Welsh, Walisisch, Cymraeg",
    "da": "Danish, Dänisch, dansk, 丹麦语",
    "de": "German, Deutsch, deutsche, deutscher, deutschen, deutsches, 德语, 德文",
    "el": "Greek, Griechisch, 希腊语, ελληνικά",
    "en": "English, Englisch, englische, englischer, englischen, englisches, 英语, 英文, Englsih",
    "eo": "Esperanto",
    "es": "Spanish, Spanisch, español, Castilian, 西班牙语, 西语",
    "et": "Estonian, Estnisch, eesti",
    "eu": "Basque, Baskisch, euskara",
    "fa": "Persian, Farsi, Persisch, 波斯语",
    "fi": "Finnish, Finnisch, suomi, 芬兰语",
    "fr": "French, Französisch, französische, französischen, français, 法语, 法文",
    "ga": "Irish, Gaelic, Irisch",
    "gl": "Galician, Galicisch",
    "gu": "Gujarati",
    "he": "Hebrew, Hebräisch, 希伯来语",
    "hi": "Hindi, 印地语",
    "hr": "Croatian, Kroatisch, hrvatski",
    "hu": "Hungarian, Ungarisch, magyar, 匈牙利语",
    "hy": "Armenian, Armenisch",
    "id": "Indonesian, Indonesisch, bahasa Indonesia, 印尼语",
    "is": "Icelandic, Isländisch",
    "it": "Italian, Italienisch, italiano, 意大利语, 意大利文",
    "ja": "Japanese, Japanisch, 日语, 日文, 日本語",
    "ka": "Georgian",
    "kk": "Kazakh",
    "km": "Khmer",
    "kn": "Kannada",
    "ko": "Korean, Koreanisch, 韩语, 韩文, 한국어",
    "la": "Latin, Latein, Lateinisch",
    "lt": "Lithuanian, Litauisch",
    "lv": "Latvian, Lettisch",
    "mk": "Macedonian",
    "ml": "Malayalam",
    "mn": "Mongolian",
    "mr": "Marathi",
    "ms": "Malay",
    "ne": "Nepali",
    "nl": "Dutch, Niederländisch, Flemish, Nederlands, 荷兰语",
    "no": "Norwegian, Norwegisch, norsk, 挪威语",
    "pa": "Punjabi",
    "pl": "Polish, Polnisch, polski, 波兰语",
    "pt": "Portuguese, Portugiesisch, português, 葡萄牙语",
    "ro": "Romanian, Rumänisch, română",
    "ru": "Russian, Russisch, русский, по-русски, 俄语, 俄文",
    "sk": "Slovak, Slowakisch",
    "sl": "Slovenian, Slovene, Slowenisch",
    "sq": "Albanian, Albanisch",
    "sr": "Serbian, Serbisch",
    "sv": "Swedish, Schwedisch, svenska, 瑞典语",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai, 泰语",
    "tl": "Tagalog, Filipino",
    "tr": "Turkish, Türkisch, Türkçe, 土耳其语",
    "uk": "Ukrainian, Ukrainisch, українська, 乌克兰语",
    "ur": "Urdu",
    "uz": "Uzbek",
    "vi": "Vietnamese, Vietnamesisch, 越南语",
    "yi": "Yiddish",
    "zh": "Chinese, Mandarin, Chinesisch, 中文, 汉语, 普通话, Putonghua",
    "zh-Hans": "simplified Chinese, simplified characters, 简体中文, 简体字, 简体",
    "zh-Hant": "traditional Chinese, traditional characters, 繁体中文, 繁體中文, 繁体字, 繁体, 繁體",
    "yue": "Cantonese, 粤语",
}


def language_lexicon() -> str:
    """Lines for :meth:`~aspectra.search.reader.lexicon.Lexicon.read`."""
    lines = []
    for tag, names in LANGUAGE_NAMES.items():
        phrases = []
        for name in names.split(", "):
            phrases += [name, f"{name}{{-language,-medium, language}}"]
        lines.append(f"language {tag}: prefix = " + " | ".join(phrases).casefold())
    return "\n".join(lines)
